// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace rest_fcgi::yaml {

/// The YAML style in which a text is written.
enum class Style { plain, single_quoted, double_quoted };

/// The properties of a text that PyYAML's emitter uses to choose a style (analyze_scalar in yaml/emitter.py).
struct ScalarLook {
  bool multiline = false;
  bool may_be_plain = true;  ///< In block style, the text needs no quotes. This does not say whether the text
                             ///< would then be read as another type.
  bool may_be_single_quoted = true;
};

[[nodiscard]] ScalarLook look_at(std::u32string_view text);

/// Returns the style of a text. `is_text_when_plain` says that the text is read as text without quotes, and
/// not as a number or another type. `is_key` says that the text has to be on one line.
[[nodiscard]] Style style_of(const ScalarLook& look, bool is_text_when_plain, bool is_key);

/// Returns whether PyYAML reads the text without quotes as text, and not as another type.
[[nodiscard]] bool resolves_to_text(std::string_view text);

/// Returns whether the character is a line break of YAML 1.1: line feed, U+0085, U+2028 and U+2029.
[[nodiscard]] bool is_break(char32_t c);

/// Returns whether the character needs no escape in double quotes.
[[nodiscard]] bool is_unescaped(char32_t c);

/// Returns the escape of a character in double quotes: `\n`, `\x01`, `\u2028`.
[[nodiscard]] std::string escape_of(char32_t c);

}  // namespace rest_fcgi::yaml

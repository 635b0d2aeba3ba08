// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace rest_fcgi::yaml {

/// How a text is written.
enum class Style { plain, single_quoted, double_quoted };

/// What PyYAML's emitter (yaml/emitter.py, analyze_scalar) looks for in a text before it chooses a style.
struct ScalarLook {
  bool multiline = false;
  bool may_be_plain = true;  ///< in a block, if it then reads as text
  bool may_be_single_quoted = true;
};

[[nodiscard]] ScalarLook look_at(std::u32string_view text);

/// The style of a text of that look. `is_text_when_plain`: without quotes it does not read as a number or
/// such; `is_key`: it has to be on one line.
[[nodiscard]] Style style_of(const ScalarLook& look, bool is_text_when_plain, bool is_key);

/// Does a text without quotes read as text, by PyYAML's resolvers?
[[nodiscard]] bool resolves_to_text(std::string_view text);

/// A line break of YAML 1.1: line feed, U+0085, U+2028 and U+2029.
[[nodiscard]] bool is_break(char32_t c);

/// May stand in double quotes as it is.
[[nodiscard]] bool is_unescaped(char32_t c);

/// The escape of a character in double quotes: `\n`, `\x01`, `\u2028`.
[[nodiscard]] std::string escape_of(char32_t c);

}  // namespace rest_fcgi::yaml

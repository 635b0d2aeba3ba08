// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace rest_fcgi::yaml {

enum class Style { plain, single_quoted, double_quoted };

/// The properties of a text by which PyYAML's emitter decides whether the text needs quotes (analyze_scalar
/// in yaml/emitter.py).
struct ScalarLook {
  bool multiline = false;
  bool may_be_plain = true;  ///< Whether the text's characters need no quotes in block style.
  bool may_be_single_quoted = true;
};

[[nodiscard]] ScalarLook look_at(std::u32string_view text);

/// Returns the style in which PyYAML writes a text. `is_text_when_plain` is the result of `resolves_to_text`.
/// For a key, the style is one that writes the key on one line.
[[nodiscard]] Style style_of(const ScalarLook& look, bool is_text_when_plain, bool is_key);

/// Returns whether PyYAML reads the text as a string even if it has no quotes.
[[nodiscard]] bool resolves_to_text(std::string_view text);

/// Returns whether the character is a line break of YAML 1.1: line feed, U+0085, U+2028 or U+2029.
[[nodiscard]] bool is_break(char32_t c);

[[nodiscard]] bool is_unescaped(char32_t c);

/// Returns the escape for a character in a double-quoted text, such as `\x01`.
[[nodiscard]] std::string escape_of(char32_t c);

}  // namespace rest_fcgi::yaml

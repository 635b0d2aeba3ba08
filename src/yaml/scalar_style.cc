// SPDX-License-Identifier: MIT
#include "yaml/scalar_style.h"

#include <cstdint>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/pattern.h"
#include "rest_fcgi/yaml/yaml.h"

namespace rest_fcgi::yaml {
namespace {

bool is_blank(char32_t c) {
  return c == U'\0' || c == U' ' || c == U'\t' || c == U'\r' || is_break(c);
}

bool is_one_of(char32_t c, std::u32string_view characters) {
  return characters.find(c) != std::u32string_view::npos;
}

/// Returns whether PyYAML with `allow_unicode` writes the character without an escape.
bool is_plain_character(char32_t c) {
  if (c == U'\n' || c == 0x85) return true;
  if (c < 0x7F) return c >= 0x20;
  return c >= 0xA0 && c != 0xFEFF && c != 0xFFFE && c != 0xFFFF && c != 0x10FFFF;
}

/// For example, a text with a colon before a blank may need quotes.
bool is_indicator(std::u32string_view text, std::size_t at) {
  const char32_t c = text[at];
  const bool before_blank = at + 1 >= text.size() || is_blank(text[at + 1]);
  if (c == U':') return before_blank;
  if (at != 0) return c == U'#' && is_blank(text[at - 1]);
  return is_one_of(c, U"#,[]{}&*!|>'\"%@`") || ((c == U'?' || c == U'-') && before_blank);
}

const Regex& timestamp_pattern() {
  static const Regex pattern = *Regex::compile(
      "[0-9]{4}-[0-9]{2}-[0-9]{2}"
      "|[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?(?:[Tt]|[ \\t]+)[0-9][0-9]?:[0-9]{2}:[0-9]{2}(?:\\.[0-9]*)?"
      "(?:[ \\t]*(?:Z|[-+][0-9][0-9]?(?::[0-9]{2})?))?");
  return pattern;
}

/// A number of more than 1000 digits gets quotes without the expensive call of `kind_of_plain`.
bool is_long_number(std::string_view text) {
  constexpr std::size_t kLong = 1000;
  return text.size() > kLong && text.find_first_not_of("0123456789_.", 1) == std::string_view::npos;
}

}  // namespace

bool is_break(char32_t c) {
  return c == U'\n' || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool is_unescaped(char32_t c) {
  if (c == U'"' || c == U'\\' || c == 0xFEFF || is_break(c)) return false;
  return (c >= 0x20 && c <= 0x7E) || (c >= 0xA0 && c <= 0xFFFD);
}

std::string escape_of(char32_t c) {
  using namespace std::string_view_literals;
  static constexpr std::u32string_view kCharacters = U"\0\a\b\t\n\v\f\r\x1B\"\\\x85\u2028\u2029"sv;
  static constexpr std::string_view kLetters = "0abtnvfre\"\\NLP";
  if (const std::size_t at = kCharacters.find(c); at != std::u32string_view::npos) {
    return {'\\', kLetters[at]};
  }
  const auto code = static_cast<std::uint32_t>(c);
  if (code <= 0xFF) return format("\\x{:02X}", code);
  return code <= 0xFFFF ? format("\\u{:04X}", code) : format("\\U{:08X}", code);
}

ScalarLook look_at(std::u32string_view text) {
  ScalarLook look;
  if (text.empty()) return look;
  const auto is_edge = [](char32_t c) { return c == U' ' || is_break(c); };
  look.may_be_plain = !is_edge(text.front()) && !is_edge(text.back()) && !text.starts_with(U"---") &&
                      !text.starts_with(U"...");
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char32_t c = text[at];
    const char32_t before = at == 0 ? U'\0' : text[at - 1];
    if (is_indicator(text, at)) look.may_be_plain = false;
    if (is_break(c)) look.multiline = true;
    const bool is_mixed = (c == U' ' && at != 0 && is_break(before)) || (is_break(c) && before == U' ');
    if (is_mixed || !is_plain_character(c)) look.may_be_single_quoted = false;
  }
  look.may_be_plain = look.may_be_plain && !look.multiline && look.may_be_single_quoted;
  return look;
}

Style style_of(const ScalarLook& look, bool is_text_when_plain, bool is_key) {
  if (is_text_when_plain && look.may_be_plain && !(is_key && look.multiline)) return Style::plain;
  return look.may_be_single_quoted && !(is_key && look.multiline) ? Style::single_quoted
                                                                  : Style::double_quoted;
}

bool resolves_to_text(std::string_view text) {
  if (text == "=" || text == "<<" || is_long_number(text)) return false;
  if (kind_of_plain(text) != Kind::string) return false;
  const bool is_digit_first = !text.empty() && text.front() >= '0' && text.front() <= '9';
  constexpr std::size_t kLongestTimestamp = 1000;
  return !is_digit_first || text.size() > kLongestTimestamp || !timestamp_pattern().match_all(text);
}

}  // namespace rest_fcgi::yaml

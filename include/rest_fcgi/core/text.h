// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace rest_fcgi {

inline constexpr std::string_view kHexDigits = "0123456789abcdefABCDEF";

/// Returns whether `text` is not empty and consists of characters in `characters`.
[[nodiscard]] constexpr bool only_of(std::string_view text, std::string_view characters) noexcept {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

[[nodiscard]] constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

[[nodiscard]] constexpr bool only_digits(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

[[nodiscard]] constexpr bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

[[nodiscard]] constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] inline std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower(c);
  return out;
}

[[nodiscard]] inline bool equal_without_case(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

/// Returns the text without spaces and tabs at both ends.
[[nodiscard]] inline std::string_view trimmed(std::string_view text) noexcept {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

/// Returns the text without white space at both ends, as Python's `strip()`.
[[nodiscard]] std::string_view stripped(std::string_view text) noexcept;

/// Returns the words between white space, as Python's `split()`. The words borrow from `text`.
[[nodiscard]] std::vector<std::string_view> split_words(std::string_view text);

/// Returns the parts of the text between delimiters. Parts may be empty. REQUIRES: `delimiter` is not empty.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, std::string_view delimiter);

/// Returns the text before the first `separator`. Removes the text and the separator from `rest`. Without a
/// separator, takes all of `rest`.
inline std::string_view next_token(std::string_view& rest, char separator) noexcept {
  const std::string_view part = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

/// Parses the whole text as a number. Returns std::nullopt if the text is malformed or the number is out of
/// range. `base` is the base of an integer; the default is 10.
template <class Number, class... Base>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text, Base... base) noexcept {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base...);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Parses the whole text as a port from 1 to 65535. Returns std::nullopt for any other text.
[[nodiscard]] inline std::optional<std::uint16_t> parse_port(std::string_view text) noexcept {
  const auto port = parse_number<std::uint16_t>(text);
  return port == 0 ? std::nullopt : port;
}

/// Returns the byte of a `%XX` at the start of the text. Returns std::nullopt for any other start.
[[nodiscard]] std::optional<char> percent_byte(std::string_view text) noexcept;

/// The meaning of a plus sign. In forms and queries `+` means a space.
enum class Plus { itself, blank };

/// Replaces each `%XX` by its byte. `Plus::blank` turns `+` into a space.
[[nodiscard]] std::string percent_decoded(std::string_view text, Plus plus = Plus::itself);

/// Replaces each byte by `%XX`, except letters, digits, `-._~` (RFC 3986, section 2.3) and the bytes of
/// `kept`.
[[nodiscard]] std::string percent_encoded(std::string_view text, std::string_view kept = {});

template <class Texts>
[[nodiscard]] std::string joined(const Texts& texts, std::string_view separator = ", ") {
  std::string all;
  for (const auto& text : texts) all.append(all.empty() ? std::string_view() : separator).append(text);
  return all;
}

}  // namespace rest_fcgi

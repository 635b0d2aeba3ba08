// SPDX-License-Identifier: MIT
#include "core/json_number.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

namespace rest_fcgi {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Takes one run of digits off the front; false where there is none.
bool take_digits(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  text.remove_prefix(n);
  return n != 0;
}

bool take(std::string_view& text, std::string_view one_of) {
  if (text.empty() || one_of.find(text[0]) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<JsonValue::Kind> json_number_kind(std::string_view text) noexcept {
  take(text, "-");
  const bool leading_zero = !text.empty() && text[0] == '0';
  const std::size_t before = text.size();
  if (!take_digits(text) || (leading_zero && before - text.size() > 1)) return std::nullopt;
  auto kind = JsonValue::Kind::integer;
  if (take(text, ".")) {
    kind = JsonValue::Kind::real;
    if (!take_digits(text)) return std::nullopt;
  }
  if (take(text, "eE")) {
    kind = JsonValue::Kind::real;
    take(text, "+-");
    if (!take_digits(text)) return std::nullopt;
  }
  if (!text.empty()) return std::nullopt;
  return kind;
}

bool is_finite_number(std::string_view text) {
  double value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc()) return true;
  // from_chars does not tell a number that is too small, which is 0 for Python, from one that is too large.
  return std::isfinite(std::strtod(std::string(text).c_str(), nullptr));
}

}  // namespace rest_fcgi

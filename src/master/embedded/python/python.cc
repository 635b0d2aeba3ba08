// SPDX-License-Identifier: MIT
#include "master/embedded/python/python.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();

std::string_view strip(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n\v\f";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// Digits, also with single underscores between them, without these.
std::optional<std::string> plain_digits(std::string_view text) {
  std::string digits;
  bool after_digit = false;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && !(c == '_' && after_digit)) return std::nullopt;
    if (is_digit) digits += c;
    after_digit = is_digit;
  }
  if (!after_digit) return std::nullopt;
  return digits;
}

std::int64_t truncated(double value) {
  if (value >= static_cast<double>(kLargest)) return kLargest;
  if (value <= static_cast<double>(kSmallest)) return kSmallest;
  return static_cast<std::int64_t>(value);
}

/// A real's value; numbers beyond the range of a double count as infinite, as they do for Python.
double real(const JsonValue& value) {
  const double infinity = std::numeric_limits<double>::infinity();
  return value.number().value_or(value.text().starts_with('-') ? -infinity : infinity);
}

std::optional<double> float_from_text(std::string_view text) {
  std::string_view word = strip(text);
  if (word.starts_with('+')) word.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::int64_t> python_int(std::string_view text) {
  std::string_view word = strip(text);
  const bool negative = word.starts_with('-');
  if (negative || word.starts_with('+')) word.remove_prefix(1);
  const std::optional<std::string> digits = plain_digits(word);
  if (!digits) return std::nullopt;
  const std::string number = (negative ? "-" : "") + *digits;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  return error == std::errc() ? value : negative ? kSmallest : kLargest;
}

WholeNumber python_int(const JsonValue& value) {
  switch (value.kind()) {
    case JsonValue::Kind::boolean:
      return value.boolean() ? 1 : 0;
    case JsonValue::Kind::real:
      return truncated(real(value));
    case JsonValue::Kind::integer:
    case JsonValue::Kind::string:
      if (const auto whole = python_int(value.text())) return *whole;
      return Raised::value_error("invalid literal for int() with base 10: " + value.python_repr());
    default:
      return Raised::type_error(
          format("int() argument must be a string, a bytes-like object or a real number, not '{}'",
                 value.type_name()));
  }
}

WholeNumber python_randint_bound(const JsonValue& bound) {
  switch (bound.kind()) {
    case JsonValue::Kind::string:
    case JsonValue::Kind::array:
      return Raised::type_error(format("can only concatenate {0} (not \"int\") to {0}", bound.type_name()));
    case JsonValue::Kind::null:
    case JsonValue::Kind::object:
      return Raised::type_error(
          format("unsupported operand type(s) for +: '{}' and 'int'", bound.type_name()));
    default:
      break;
  }
  if (bound.is(JsonValue::Kind::real) && std::trunc(real(bound)) != real(bound)) {
    return Raised::value_error("non-integer stop for randrange()");
  }
  const WholeNumber number = python_int(bound);
  const std::int64_t last = std::get<std::int64_t>(number);
  if (last >= 0) return last;
  const std::int64_t stop = last + 1;
  return Raised::value_error(format("empty range for randrange() (0, {0}, {0})", stop));
}

bool python_bool(const JsonValue& value) {
  switch (value.kind()) {
    case JsonValue::Kind::null:
      return false;
    case JsonValue::Kind::boolean:
      return value.boolean();
    case JsonValue::Kind::integer:
    case JsonValue::Kind::real:
      return real(value) != 0;
    case JsonValue::Kind::string:
      return !value.text().empty();
    default:
      return value.size() != 0;
  }
}

bool salt_is_true(const JsonValue& value) {
  if (value.is(JsonValue::Kind::integer) || value.is(JsonValue::Kind::real)) {
    return std::get<std::int64_t>(python_int(value)) > 0;
  }
  if (!value.is(JsonValue::Kind::string)) return python_bool(value);
  if (const auto whole = python_int(value.text())) return *whole > 0;
  if (const auto fraction = float_from_text(value.text())) return *fraction > 0;
  std::string word(value.text());
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return word == "true";
}

std::string python_type(const JsonValue& value) {
  return format("<class '{}'>", value.type_name());
}

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#include "config/scalar.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <regex>
#include <string>

namespace rest_fcgi::config {
namespace {

// No number is longer, and std::regex needs stack for each character.
constexpr std::size_t kLongestNumber = 256;

const std::regex& integer_pattern() {
  static const std::regex pattern(
      "[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+"
      "|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+",
      std::regex::optimize);
  return pattern;
}

const std::regex& real_pattern() {
  static const std::regex pattern(
      "[-+]?[0-9][0-9_]*\\.[0-9_]*(?:[eE][-+][0-9]+)?|\\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
      "|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\\.[0-9_]*|[-+]?\\.(?:inf|Inf|INF)|\\.(?:nan|NaN|NAN)",
      std::regex::optimize);
  return pattern;
}

bool is_boolean(std::string_view text) {
  static constexpr std::string_view kNames[] = {"yes",  "Yes",  "YES",  "no",    "No",    "NO",
                                                "true", "True", "TRUE", "false", "False", "FALSE",
                                                "on",   "On",   "ON",   "off",   "Off",   "OFF"};
  return std::find(std::begin(kNames), std::end(kNames), text) != std::end(kNames);
}

/// A number's digits without underscores, and its sign.
struct Digits {
  std::string text;
  bool negative = false;
};

Digits digits_of(std::string_view text) {
  Digits digits;
  if (text.front() == '-' || text.front() == '+') {
    digits.negative = text.front() == '-';
    text.remove_prefix(1);
  }
  std::copy_if(text.begin(), text.end(), std::back_inserter(digits.text), [](char c) { return c != '_'; });
  return digits;
}

std::optional<std::int64_t> parse_digits(std::string_view text, int base) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// `190:20:30`, where each part counts 60 of the next.
std::optional<std::int64_t> parse_sexagesimal(std::string_view text) {
  std::int64_t value = 0;
  while (true) {
    const std::size_t colon = text.find(':');
    const auto part = parse_digits(text.substr(0, colon), 10);
    if (!part || __builtin_mul_overflow(value, 60, &value) || __builtin_add_overflow(value, *part, &value)) {
      return std::nullopt;
    }
    if (colon == std::string_view::npos) return value;
    text.remove_prefix(colon + 1);
  }
}

std::optional<std::int64_t> parse_magnitude(const Digits& digits, bool signed_text) {
  const std::string_view text = digits.text;
  if (text.find(':') != std::string_view::npos) return parse_sexagesimal(text);
  if (text.starts_with("0x")) return parse_digits(text.substr(2), 16);
  if (text.starts_with("0b")) return parse_digits(text.substr(2), 2);
  // YAML 1.1 takes a leading zero for octal. Salt drops it instead, but overlooks numbers with a sign.
  return parse_digits(text, signed_text && text.size() > 1 && text.front() == '0' ? 8 : 10);
}

double parse_sexagesimal_real(std::string_view text) {
  double value = 0;
  while (true) {
    const std::size_t colon = text.find(':');
    value = value * 60 + std::strtod(std::string(text.substr(0, colon)).c_str(), nullptr);
    if (colon == std::string_view::npos) return value;
    text.remove_prefix(colon + 1);
  }
}

}  // namespace

Kind kind_of_plain(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return Kind::null;
  if (is_boolean(text)) return Kind::boolean;
  if (text.size() > kLongestNumber) return Kind::string;
  if (std::regex_match(text.begin(), text.end(), integer_pattern())) return Kind::integer;
  if (std::regex_match(text.begin(), text.end(), real_pattern())) return Kind::real;
  return Kind::string;
}

bool to_boolean(std::string_view text) {
  const char second = text.size() > 1 ? text[1] : '\0';
  return text.front() == 'y' || text.front() == 'Y' || text.front() == 't' || text.front() == 'T' ||
         second == 'n' || second == 'N';
}

std::optional<std::int64_t> to_integer(std::string_view text) {
  const Digits digits = digits_of(text);
  const auto magnitude = parse_magnitude(digits, text.front() == '-' || text.front() == '+');
  if (!magnitude) return std::nullopt;
  return digits.negative ? -*magnitude : *magnitude;
}

double to_real(std::string_view text) {
  if (kind_of_plain(text) == Kind::integer) {
    if (const auto value = to_integer(text)) return static_cast<double>(*value);
  }
  const Digits digits = digits_of(text);
  double value = 0;
  if (digits.text.front() == '.' && digits.text.size() == 4 &&
      (digits.text[1] == 'n' || digits.text[1] == 'N')) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (digits.text.front() == '.' && (digits.text[1] == 'i' || digits.text[1] == 'I')) {
    value = std::numeric_limits<double>::infinity();
  } else {
    value = parse_sexagesimal_real(digits.text);
  }
  return digits.negative ? -value : value;
}

}  // namespace rest_fcgi::config

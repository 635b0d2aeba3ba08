// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <string>

#include "rest_fcgi/core/pattern.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/yaml/yaml.h"

// This file reads YAML scalars without quotes. The rules are those of PyYAML (yaml/resolver.py and
// yaml/constructor.py), with the changes of salt/utils/yamlloader.py.
namespace rest_fcgi::yaml {
namespace {

// The largest number of digits with which Python reads an integer from text.
constexpr std::size_t kLongestNumber = 4300;

bool is_boolean(std::string_view text) {
  static constexpr std::string_view kNames[] = {"yes",  "Yes",  "YES",  "no",    "No",    "NO",
                                                "true", "True", "TRUE", "false", "False", "FALSE",
                                                "on",   "On",   "ON",   "off",   "Off",   "OFF"};
  return std::find(std::begin(kNames), std::end(kNames), text) != std::end(kNames);
}

struct Digits {
  explicit Digits(std::string_view number) {
    has_sign = number.front() == '-' || number.front() == '+';
    negative = number.front() == '-';
    number.remove_prefix(has_sign ? 1 : 0);
    std::copy_if(number.begin(), number.end(), std::back_inserter(text), [](char c) { return c != '_'; });
  }

  std::string text;
  bool has_sign = false;
  bool negative = false;
};

/// Parses a sexagesimal integer such as `190:20:30`.
std::optional<std::uint64_t> parse_sexagesimal(std::string_view text) {
  std::uint64_t value = 0;
  while (true) {
    const std::size_t colon = text.find(':');
    const auto part = parse_number<std::uint64_t>(text.substr(0, colon));
    if (!part || __builtin_mul_overflow(value, 60, &value) || __builtin_add_overflow(value, *part, &value)) {
      return std::nullopt;
    }
    if (colon == std::string_view::npos) return value;
    text.remove_prefix(colon + 1);
  }
}

std::optional<std::uint64_t> parse_other(std::string_view text) {
  if (text.find(':') != std::string_view::npos) return parse_sexagesimal(text);
  if (text.starts_with("0x")) return parse_number<std::uint64_t>(text.substr(2), 16);
  if (text.starts_with("0b")) return parse_number<std::uint64_t>(text.substr(2), 2);
  return parse_number<std::uint64_t>(text, 8);
}

/// Parses a real number such as `1.5` or the sexagesimal `1:30.5`.
double parse_real(std::string_view text) {
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
  static constexpr std::string_view kStarts = "+-.0123456789";
  if (text.size() > kLongestNumber || kStarts.find(text.front()) == std::string_view::npos) {
    return Kind::string;
  }
  static const Regex integer = *Regex::compile(
      "[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+"
      "|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+");
  if (integer.match_all(text)) return Kind::integer;
  static const Regex real = *Regex::compile(
      "[-+]?[0-9][0-9_]*\\.[0-9_]*(?:[eE][-+][0-9]+)?|\\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
      "|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\\.[0-9_]*|[-+]?\\.(?:inf|Inf|INF)|\\.(?:nan|NaN|NAN)");
  return real.match_all(text) ? Kind::real : Kind::string;
}

bool to_boolean(std::string_view text) {
  const char second = text.size() > 1 ? text[1] : '\0';
  return text.front() == 'y' || text.front() == 'Y' || text.front() == 't' || text.front() == 'T' ||
         second == 'n' || second == 'N';
}

std::optional<std::string> to_decimal(std::string_view text) {
  Digits digits(text);
  std::string& number = digits.text;
  const bool starts_with_zero = number.size() > 1 && number.front() == '0';
  const bool is_octal = starts_with_zero && digits.has_sign;
  if (is_octal || number.find_first_of(":xb") != std::string::npos) {
    const auto value = parse_other(number);
    if (!value) return std::nullopt;
    number = std::to_string(*value);
  } else if (starts_with_zero) {
    number.erase(0, std::min(number.find_first_not_of('0'), number.size() - 1));
  }
  return (digits.negative && number != "0" ? "-" : "") + number;
}

std::optional<std::int64_t> to_integer(std::string_view text) {
  const auto digits = to_decimal(text);
  return digits ? parse_number<std::int64_t>(*digits) : std::nullopt;
}

double to_real(std::string_view text) {
  if (kind_of_plain(text) == Kind::integer) {
    if (const auto decimal = to_decimal(text)) return std::strtod(decimal->c_str(), nullptr);
  }
  const Digits digits(text);
  // Of all real numbers, only `.inf` and `.nan` have a letter N.
  const bool is_word = digits.text.find_first_of("nN") != std::string::npos;
  double value = is_word ? std::numeric_limits<double>::infinity() : parse_real(digits.text);
  if (is_word && (digits.text[1] == 'n' || digits.text[1] == 'N'))
    value = std::numeric_limits<double>::quiet_NaN();
  return digits.negative ? -value : value;
}

}  // namespace rest_fcgi::yaml

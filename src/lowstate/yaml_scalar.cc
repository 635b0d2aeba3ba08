// SPDX-License-Identifier: MIT
#include "lowstate/yaml_scalar.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>

namespace rest_fcgi::lowstate {
namespace {

constexpr std::string_view kDecimal = "0123456789";
constexpr std::size_t kMaxDigits = 4300;  // Python's own limit for reading an integer

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool consists_of(std::string_view text, std::string_view allowed) {
  return text.find_first_not_of(allowed) == std::string_view::npos;
}

std::string without_underscores(std::string_view text) {
  std::string out;
  std::copy_if(text.begin(), text.end(), std::back_inserter(out), [](char c) { return c != '_'; });
  return out;
}

/// Takes a leading sign off; is it a minus?
bool take_sign(std::string_view& text) {
  if (text.empty() || (text.front() != '-' && text.front() != '+')) return false;
  const bool negative = text.front() == '-';
  text.remove_prefix(1);
  return negative;
}

Json signed_integer(bool negative, std::string digits) {
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return Json::trusted((negative && digits != "0" ? "-" : "") + digits);
}

/// Digits of another base behind `0x` or `0b`.
std::optional<Json> based_integer(bool negative, std::string_view digits, int base) {
  const std::string plain = without_underscores(digits);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value, base);
  if (error != std::errc() || end != plain.data() + plain.size()) return std::nullopt;
  return signed_integer(negative, std::to_string(value));
}

std::optional<Json> integer(std::string_view text) {
  const bool negative = take_sign(text);
  if (text.empty() || kDecimal.find(text.front()) == std::string_view::npos) return std::nullopt;
  if (text.starts_with("0x")) {
    if (!consists_of(text.substr(2), "0123456789abcdefABCDEF_")) return std::nullopt;
    return based_integer(negative, text.substr(2), 16);
  }
  if (text.starts_with("0b")) {
    return consists_of(text.substr(2), "01_") ? based_integer(negative, text.substr(2), 2) : std::nullopt;
  }
  const bool octal_looking = text.size() > 1 && text.front() == '0';
  if (!consists_of(text, octal_looking ? "01234567_" : "0123456789_")) return std::nullopt;
  std::string digits = without_underscores(text);
  if (digits.size() > kMaxDigits) return std::nullopt;
  return signed_integer(negative, std::move(digits));
}

std::optional<double> decimal_fraction(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// `1.5`, `.5`, `1.`, `1_0.5e+3`: the point is a must, and so is the sign of the exponent.
std::optional<Json> real(std::string_view text) {
  const std::string_view whole = text;
  const bool negative = take_sign(text);
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos || (point == 0 && whole.size() != text.size())) return std::nullopt;
  const std::size_t exponent = std::min(text.find_first_of("eE", point), text.size());
  const std::string_view before = text.substr(0, point);
  const std::string_view after = text.substr(point + 1, exponent - point - 1);
  if (!consists_of(before, "0123456789_") || !consists_of(after, "0123456789_")) return std::nullopt;
  const std::string_view lead = before.empty() ? after : before;
  if (lead.empty() || lead.front() == '_') return std::nullopt;
  if (exponent != text.size()) {
    std::string_view power = text.substr(exponent + 1);
    if (power.size() < 2 || (power[0] != '-' && power[0] != '+') || !consists_of(power.substr(1), kDecimal)) {
      return std::nullopt;
    }
  }
  const std::optional<double> value = decimal_fraction(without_underscores(text));
  if (!value) return std::nullopt;
  return Json::number(negative ? -*value : *value);
}

/// One place of a base 60 number behind the first one: `0` to `59`.
bool is_sexagesimal_place(std::string_view place) {
  return consists_of(place, kDecimal) &&
         (place.size() == 1 || (place.size() == 2 && place[0] >= '0' && place[0] <= '5'));
}

// As far as 64 bits surely hold it.
constexpr std::size_t kMaxFirstDigits = 9;
constexpr int kMaxPlaces = 5;

/// YAML 1.1 counts `1:30` as 90. With a fraction, `1:30.5`, it is a float.
std::optional<Json> sexagesimal(std::string_view text) {
  const bool negative = take_sign(text);
  const std::size_t point = text.find('.');
  const std::string_view fraction = point == std::string_view::npos ? "" : text.substr(point + 1);
  std::string_view places = text.substr(0, point);
  std::size_t colon = places.find(':');
  if (colon == std::string_view::npos || colon == 0 || places[0] == '_') return std::nullopt;
  if (places[0] == '0' && point == std::string_view::npos) return std::nullopt;
  const std::string first = without_underscores(places.substr(0, colon));
  if (!consists_of(first, kDecimal) || first.size() > kMaxFirstDigits) return std::nullopt;
  std::int64_t value = std::stoll(first);
  int count = 0;
  while (colon != std::string_view::npos) {
    places.remove_prefix(colon + 1);
    colon = places.find(':');
    const std::string_view place = places.substr(0, colon);
    if (!is_sexagesimal_place(place) || ++count > kMaxPlaces) return std::nullopt;
    value = value * 60 + std::stoll(std::string(place));
  }
  if (point == std::string_view::npos) return Json::integer(negative ? -value : value);
  if (!consists_of(fraction, "0123456789_")) return std::nullopt;
  const double part = decimal_fraction("0." + without_underscores(fraction) + "0").value_or(0);
  const double sum = static_cast<double>(value) + part;
  return Json::number(negative ? -sum : sum);
}

}  // namespace

Json resolve_plain_scalar(std::string_view text) {
  if (is_one_of(text, {"", "~", "null", "Null", "NULL"})) return Json();
  if (is_one_of(text, {"yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}))
    return Json::boolean(true);
  if (is_one_of(text, {"no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})) {
    return Json::boolean(false);
  }
  for (const auto read : {integer, real, sexagesimal}) {
    if (std::optional<Json> value = read(text)) return *std::move(value);
  }
  return Json::string(text);
}

}  // namespace rest_fcgi::lowstate

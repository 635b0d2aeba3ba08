// SPDX-License-Identifier: MIT
#include "master/embedded/target_grain.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>

#include "rest_fcgi/core/pattern.h"

namespace rest_fcgi::embedded::target {

namespace {

constexpr std::string_view kAnyKey = "*:";
constexpr int kMaxComparisons = 20'000;

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

/// The part of `path` before the next delimiter, which is removed together with it.
std::string_view next_level(std::string_view& path, std::string_view delimiter) {
  const std::size_t end = std::min(path.find(delimiter), path.size());
  const std::string_view level = path.substr(0, end);
  path.remove_prefix(std::min(end + delimiter.size(), path.size()));
  return level;
}

std::optional<JsonValue> element(JsonValue list, std::int64_t index) {
  const auto size = static_cast<std::int64_t>(list.size());
  if (index < 0) index += size;  // Python counts from the end
  for (const JsonValue value : list.elements()) {
    if (index-- == 0) return value;
  }
  return std::nullopt;
}

/// One level down: a member of an object; an element of a list by its number, or the member of that name of
/// the first object in it that has one.
std::optional<JsonValue> descend(JsonValue value, std::string_view level) {
  if (!value.is(JsonValue::Kind::array)) return value.find(level);
  std::int64_t index = 0;
  const auto [end, error] = std::from_chars(level.data(), level.data() + level.size(), index);
  if (error == std::errc() && end == level.data() + level.size()) return element(value, index);
  for (const JsonValue embedded : value.elements()) {
    if (const auto found = embedded.find(level)) return found;
  }
  return std::nullopt;
}

std::optional<JsonValue> traverse(JsonValue value, std::string_view path, std::string_view delimiter) {
  for (bool more = true; more;) {
    more = path.find(delimiter) != std::string_view::npos;
    const std::optional<JsonValue> below = descend(value, next_level(path, delimiter));
    if (!below) return std::nullopt;
    value = *below;
  }
  return value;
}

/// One match with its budget.
class Match {
 public:
  bool expression(JsonValue data, std::string_view expression, std::string_view delimiter);

 private:
  bool below(JsonValue value, std::string_view pattern);
  bool object(JsonValue object, std::string_view pattern);
  bool any_value(JsonValue object, std::string_view pattern);
  bool text(std::string_view text, std::string_view pattern);
  bool scalar(JsonValue value, std::string_view pattern) { return text(value.python_str(), pattern); }

  int comparisons_left_ = kMaxComparisons;
};

bool Match::expression(JsonValue data, std::string_view expression, std::string_view delimiter) {
  // The longest path comes first: what is nested more deeply takes precedence.
  for (std::size_t at = expression.rfind(delimiter); at != std::string_view::npos && comparisons_left_ > 0;
       at = at == 0 ? std::string_view::npos : expression.rfind(delimiter, at - 1)) {
    const std::string_view path = expression.substr(0, at);
    if (path == "*") {
      if (object(data, expression)) return true;
      continue;
    }
    const std::optional<JsonValue> found = traverse(data, path, delimiter);
    if (found && below(*found, expression.substr(at + delimiter.size()))) return true;
  }
  return false;
}

bool Match::below(JsonValue value, std::string_view pattern) {
  if (value.is(JsonValue::Kind::object)) return value.size() != 0 && object(value, pattern);
  if (!value.is(JsonValue::Kind::array)) return scalar(value, pattern);
  for (const JsonValue member : value.elements()) {
    if (member.is(JsonValue::Kind::object) && object(member, pattern)) return true;
    if (scalar(member, pattern)) return true;
  }
  return false;
}

bool Match::object(JsonValue object, std::string_view pattern) {
  if (comparisons_left_-- <= 0) return false;
  const bool any_key = pattern.substr(0, kAnyKey.size()) == kAnyKey;
  if (any_key) pattern.remove_prefix(kAnyKey.size());
  if (pattern == "*" || object.find(pattern)) return true;
  for (const auto& [key, value] : object.members()) {
    if (text(key, pattern)) return true;
  }
  if (expression(object, pattern, ":")) return true;
  return any_key && any_value(object, pattern);
}

bool Match::any_value(JsonValue object, std::string_view pattern) {
  for (const auto& [key, value] : object.members()) {
    if (value.is(JsonValue::Kind::object)) {
      if (this->object(value, pattern)) return true;
    } else if (value.is(JsonValue::Kind::array)) {
      for (const JsonValue member : value.elements()) {
        if (scalar(member, pattern)) return true;
      }
    } else if (scalar(value, pattern)) {
      return true;
    }
  }
  return false;
}

bool Match::text(std::string_view text, std::string_view pattern) {
  if (comparisons_left_-- <= 0) return false;
  return glob_match(lower(pattern), lower(text));
}

}  // namespace

bool matches_grain(JsonValue data, std::string_view expression, std::string_view delimiter) {
  return Match().expression(data, expression, delimiter);
}

}  // namespace rest_fcgi::embedded::target

// SPDX-License-Identifier: MIT
#include "master/embedded/modules/traverse.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "master/embedded/python/python.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

using Steps = std::vector<std::string_view>;

Steps split(std::string_view text, std::string_view delimiter) {
  Steps steps;
  std::size_t end = text.find(delimiter);
  while (end != std::string_view::npos) {
    steps.push_back(text.substr(0, end));
    text.remove_prefix(end + delimiter.size());
    end = text.find(delimiter);
  }
  steps.push_back(text);
  return steps;
}

/// Python's `split(None)`: at blanks, without empty words.
Steps split_at_blanks(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n\v\f";
  Steps words;
  std::size_t begin = text.find_first_not_of(blanks);
  while (begin != std::string_view::npos) {
    const std::size_t end = std::min(text.find_first_of(blanks, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(blanks, end);
  }
  return words;
}

std::variant<Steps, Raised> steps_of_text(std::string_view key, const std::optional<JsonValue>& delimiter) {
  if (!delimiter) return split(key, ":");
  if (delimiter->is(JsonValue::Kind::null)) return split_at_blanks(key);
  if (!delimiter->is(JsonValue::Kind::string)) {
    return Raised::type_error(format("must be str or None, not {}", delimiter->type_name()));
  }
  if (delimiter->text().empty()) return Raised::value_error("empty separator");
  return split(key, delimiter->text());
}

/// The member or element that one step leads to. Scalars have none.
std::optional<JsonValue> take_step(const JsonValue& data, std::string_view step) {
  if (data.is(JsonValue::Kind::object)) return data.find(step);
  const std::optional<std::int64_t> index = python_int(step);
  if (!index) {
    for (const JsonValue element : data.elements()) {
      if (const auto member = element.find(step)) return member;
    }
    return std::nullopt;
  }
  std::int64_t left = *index < 0 ? *index + static_cast<std::int64_t>(data.size()) : *index;
  for (const JsonValue element : data.elements()) {
    if (left-- == 0) return element;
  }
  return std::nullopt;
}

}  // namespace

Traversed traverse(const JsonValue& data, const JsonValue& key, const std::optional<JsonValue>& delimiter) {
  Steps steps;
  switch (key.kind()) {
    case JsonValue::Kind::string: {
      auto split_key = steps_of_text(key.text(), delimiter);
      if (auto* raised = std::get_if<Raised>(&split_key)) return std::move(*raised);
      steps = std::get<Steps>(std::move(split_key));
      break;
    }
    case JsonValue::Kind::null:
    case JsonValue::Kind::real:
      return Raised::type_error(format("'{}' object is not iterable", key.type_name()));
    case JsonValue::Kind::boolean:
    case JsonValue::Kind::integer:
      return std::optional<JsonValue>();  // a member's name is always text
    case JsonValue::Kind::array:
      for (const JsonValue step : key.elements()) steps.push_back(step.text());
      break;
    case JsonValue::Kind::object:
      for (const JsonMember step : key.members()) steps.push_back(step.key);
      break;
  }
  std::optional<JsonValue> found = data;
  for (const std::string_view step : steps) {
    if (found) found = take_step(*found, step);
  }
  return found;
}

}  // namespace rest_fcgi::embedded

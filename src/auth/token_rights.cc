// SPDX-License-Identifier: MIT
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/core/json_document.h"

/// Reads the rules that a Salt master stores in its tokens. If one part of a rule is malformed, the rule
/// allows nothing, because its other parts alone could allow too much.
namespace rest_fcgi::auth {
namespace {

using Kind = JsonValue::Kind;

bool is_text(JsonValue value) {
  return value.is(Kind::string) && !value.text().empty();
}

/// A value that is not a list counts as a list with one element. Returns std::nullopt if the list is empty or
/// an element is malformed.
template <class Part, class ReadOne>
std::optional<std::vector<Part>> read_each(JsonValue value, const ReadOne& read_one) {
  std::vector<Part> parts;
  const auto read = [&](JsonValue one) {
    std::optional<Part> part = read_one(one);
    if (!part) return false;
    parts.push_back(*std::move(part));
    return true;
  };
  if (!value.is(Kind::array)) return read(value) ? std::optional(std::move(parts)) : std::nullopt;
  for (const JsonValue one : value.elements()) {
    if (!read(one)) return std::nullopt;
  }
  return parts.empty() ? std::nullopt : std::optional(std::move(parts));
}

/// JSON `null` allows any value.
bool read_pattern(JsonValue value, std::optional<std::string>& pattern) {
  if (value.is(Kind::string)) pattern = value.text();
  return value.is(Kind::string) || value.is(Kind::null);
}

std::optional<ArgumentCondition> read_condition(JsonValue value) {
  if (!value.is(Kind::object)) return std::nullopt;
  ArgumentCondition condition;
  for (const JsonMember& member : value.members()) {
    if (member.key == "args" && member.value.is(Kind::array)) {
      for (const JsonValue arg : member.value.elements()) {
        if (!read_pattern(arg, condition.args.emplace_back())) return std::nullopt;
      }
    } else if (member.key == "kwargs" && member.value.is(Kind::object)) {
      for (const JsonMember& kwarg : member.value.members()) {
        auto& [key, pattern] = condition.kwargs.emplace_back(std::string(kwarg.key), std::nullopt);
        if (!read_pattern(kwarg.value, pattern)) return std::nullopt;
      }
    } else {
      return std::nullopt;
    }
  }
  return condition;
}

std::optional<FunctionRule> read_function(JsonValue value) {
  if (is_text(value)) return FunctionRule{std::string(value.text()), {}};
  if (!value.is(Kind::object) || value.size() != 1) return std::nullopt;
  const JsonMember function = *value.members().begin();
  auto conditions = read_each<ArgumentCondition>(function.value, read_condition);
  if (!conditions || function.key.empty()) return std::nullopt;
  return FunctionRule{std::string(function.key), *std::move(conditions)};
}

std::optional<Rule> read_rule(JsonValue value) {
  if (is_text(value) && value.text().starts_with('@')) return Rule{std::string(value.text()), {}};
  if (is_text(value)) return Rule{"", {FunctionRule{std::string(value.text()), {}}}};
  if (!value.is(Kind::object) || value.size() != 1) return std::nullopt;
  const JsonMember scope = *value.members().begin();
  auto functions = read_each<FunctionRule>(scope.value, read_function);
  if (!functions || scope.key.empty()) return std::nullopt;
  return Rule{std::string(scope.key), *std::move(functions)};
}

}  // namespace

std::unique_ptr<Permissions> permissions_in_token(const std::string& eauth, const Json& rights) {
  Principal all_users{"*", {}};
  JsonDocument document;
  if (document.parse(rights.text(), JsonLimits::none())) {
    for (const JsonValue entry : document.root().elements()) {
      if (auto rule = read_rule(entry)) all_users.rules.push_back(*std::move(rule));
    }
  }
  std::vector<EauthOptions> rules{{eauth, {}, {std::move(all_users)}}};
  static_cast<void>(drop_bad_rules(rules));
  auto permissions = Permissions::make(rules);
  return permissions ? *std::move(permissions) : *Permissions::make({});
}

}  // namespace rest_fcgi::auth

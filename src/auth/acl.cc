// SPDX-License-Identifier: MIT
#include "auth/acl.h"

#include <algorithm>
#include <utility>

namespace rest_fcgi::auth {
namespace {

using OptionalPattern = std::optional<AclPattern>;

Result<OptionalPattern> compile_optional(const std::optional<std::string>& text) {
  if (!text) return OptionalPattern();
  auto pattern = AclPattern::make(*text);
  if (!pattern) return std::move(pattern).error();
  return OptionalPattern(*std::move(pattern));
}

bool matches(const OptionalPattern& pattern, JsonValue value) {
  return !pattern || pattern->matches(value.python_str());
}

/// Was it given, and does each value that was given match? A name that comes twice must not slip through.
bool keyword_matches(const std::string& key, const OptionalPattern& pattern,
                     std::span<const JsonMember> kwargs) {
  bool given = false;
  for (const JsonMember& member : kwargs) {
    if (member.key != key) continue;
    if (!matches(pattern, member.value)) return false;
    given = true;
  }
  return given;
}

}  // namespace

Result<AclRule> AclRule::make(const Rule& rule) {
  AclRule result;
  result.scope_ = rule.scope;
  result.where_ = rule.where;
  for (const FunctionRule& function : rule.functions) {
    auto compiled = compile(function);
    if (!compiled) return std::move(compiled).error();
    result.functions_.push_back(*std::move(compiled));
  }
  return result;
}

Result<AclRule::Function> AclRule::compile(const FunctionRule& function) {
  auto pattern = AclPattern::make(function.pattern);
  if (!pattern) return std::move(pattern).error();
  Function result{*std::move(pattern), {}, function.pattern, function.where};
  for (const ArgumentCondition& condition : function.conditions) {
    auto compiled = compile(condition);
    if (!compiled) return std::move(compiled).error();
    result.conditions.push_back(*std::move(compiled));
  }
  return result;
}

Result<AclRule::Condition> AclRule::compile(const ArgumentCondition& condition) {
  Condition result;
  result.others = condition.others || (condition.args.empty() && condition.kwargs.empty());
  for (const auto& text : condition.args) {
    auto pattern = compile_optional(text);
    if (!pattern) return std::move(pattern).error();
    result.args.push_back(*std::move(pattern));
  }
  for (const auto& [key, text] : condition.kwargs) {
    auto pattern = compile_optional(text);
    if (!pattern) return std::move(pattern).error();
    result.kwargs.emplace_back(key, *std::move(pattern));
  }
  return result;
}

bool AclRule::Condition::names(std::string_view keyword) const {
  return std::any_of(kwargs.begin(), kwargs.end(),
                     [keyword](const auto& wanted) { return wanted.first == keyword; });
}

bool AclRule::Condition::holds(const CallArguments& given) const {
  if (given.args.size() < args.size()) return false;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!matches(args[i], given.args[i])) return false;
  }
  const bool is_named_right = std::all_of(kwargs.begin(), kwargs.end(), [&given](const auto& wanted) {
    return keyword_matches(wanted.first, wanted.second, given.kwargs);
  });
  if (!is_named_right || others) return is_named_right;
  return given.args.size() == args.size() &&
         std::all_of(given.kwargs.begin(), given.kwargs.end(),
                     [this](const JsonMember& member) { return names(member.key); });
}

bool AclRule::allows_all() const {
  return functions_.empty() ||
         std::any_of(functions_.begin(), functions_.end(), [](const Function& function) {
           return function.conditions.empty() && function.text == ".*";
         });
}

RuleMatch AclRule::match_as(std::string_view name, const FunctionCall& call) const {
  RuleMatch best;
  for (const Function& function : functions_) {
    if (!function.pattern.matches(name)) continue;
    const auto holds = [&function](const CallArguments& given) {
      return function.conditions.empty() ||
             std::any_of(function.conditions.begin(), function.conditions.end(),
                         [&given](const Condition& condition) { return condition.holds(given); });
    };
    if (holds(call.sent) && (!call.received || holds(*call.received)))
      return {RuleMatch::Kind::yes, function.text, function.where};
    best = {RuleMatch::Kind::arguments, function.text, function.where};
  }
  return best;
}

RuleMatch AclRule::match_master(Form form, const FunctionCall& call) const {
  if (is_for_minions()) return {};
  const std::string_view name = call.name;
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos || name.find('.', dot + 1) != std::string_view::npos) return {};
  const std::string_view scope = std::string_view(scope_).substr(1);
  const std::string_view form_name = form == Form::runner ? "runner" : "wheel";
  const bool of_module = scope == name.substr(0, dot);
  const bool of_form =
      scope == form_name || (scope.starts_with(form_name) && scope.substr(form_name.size()) == "s");
  if (functions_.empty())
    return of_module || of_form ? RuleMatch{RuleMatch::Kind::yes, {}, where_} : RuleMatch();
  const RuleMatch match = of_module ? match_as(name.substr(dot + 1), call) : RuleMatch();
  return match.kind == RuleMatch::Kind::yes || !of_form ? match : match_as(name, call);
}

}  // namespace rest_fcgi::auth

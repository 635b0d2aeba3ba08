// SPDX-License-Identifier: MIT
#include "master/salt/strict_functions.h"

#include <algorithm>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/pattern.h"

namespace rest_fcgi::salt {
namespace {

using lowstate::Target;
using lowstate::TargetType;

/// Neither a compound target of several words, nor one with a letter such as `G@`.
bool is_plain_glob(std::string_view target) {
  return target.find_first_of(" @()") == std::string_view::npos;
}

bool is_plain_id(std::string_view text) {
  return text.find_first_of("*?[]") == std::string_view::npos;
}

bool is_within(const Target& target, std::string_view rule) {
  if (rule == "*") return true;
  const bool glob = target.type == TargetType::glob;
  if ((glob || target.type == TargetType::compound) && target.list.empty() && target.expression == rule) {
    return true;
  }
  if (!is_plain_glob(rule)) return false;
  if (glob) return is_plain_id(target.expression) && glob_match(rule, target.expression);
  return target.type == TargetType::list && !target.list.empty() &&
         std::all_of(target.list.begin(), target.list.end(),
                     [rule](std::string_view id) { return glob_match(rule, id); });
}

bool is_allowed(const auth::Permissions& permissions, const auth::Subject& subject,
                const auth::TargetsWithin& within, const lowstate::Function& function) {
  const auto findings =
      permissions.explain_local(subject, {function.name, function.args, function.kwargs}, within);
  return std::any_of(findings.begin(), findings.end(),
                     [](const auth::Finding& one) { return one.kind == auth::Finding::Kind::allows; });
}

}  // namespace

Result<void> check_each_function(const auth::Permissions& permissions, const auth::Subject& subject,
                                 const lowstate::LocalCall& call) {
  if (call.functions.size() < 2) return {};
  const auth::TargetsWithin within = [&](std::string_view rule) { return is_within(call.target, rule); };
  for (const lowstate::Function& function : call.functions) {
    if (is_allowed(permissions, subject, within, function)) continue;
    return Error{ErrorKind::authorization, "Authorization error occurred."};
  }
  return {};
}

Result<void> check_on_roster(const auth::Permissions& permissions, const auth::Subject& subject,
                             const lowstate::LocalCall& call) {
  const auth::TargetsWithin none = [](std::string_view) { return false; };
  if (is_allowed(permissions, subject, none, call.functions.front())) return {};
  return Error{ErrorKind::authorization, "Authorization error occurred."};
}

Result<void> check_wheel_arguments(const lowstate::MasterCall& call) {
  for (const JsonMember& argument : call.function.kwargs) {
    if (argument.key != "arg" && argument.key != "kwarg") continue;
    return Error{ErrorKind::invocation,
                 format("A wheel takes no keyword argument of the name '{}': the Salt Master would take it "
                        "for the arguments that a rule of external_auth is about.",
                        argument.key)};
  }
  return {};
}

}  // namespace rest_fcgi::salt

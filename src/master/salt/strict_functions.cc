// SPDX-License-Identifier: MIT
#include "master/salt/strict_functions.h"

#include <fnmatch.h>

#include <algorithm>
#include <string>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::salt {
namespace {

using lowstate::Target;
using lowstate::TargetType;

/// Neither a compound target of several words, nor one with a letter such as `G@`.
bool is_plain_glob(std::string_view target) {
  return target.find_first_of(" @()") == std::string_view::npos;
}

bool matches(std::string_view glob, std::string_view id) {
  return ::fnmatch(std::string(glob).c_str(), std::string(id).c_str(), 0) == 0;
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
  if (glob) return is_plain_id(target.expression) && matches(rule, target.expression);
  return target.type == TargetType::list && !target.list.empty() &&
         std::all_of(target.list.begin(), target.list.end(),
                     [rule](std::string_view id) { return matches(rule, id); });
}

bool is_allowed(const auth::Permissions& permissions, const auth::Subject& subject, const Target& target,
                const lowstate::Function& function) {
  const auth::TargetsWithin within = [&](std::string_view rule) { return is_within(target, rule); };
  const auto findings =
      permissions.explain_local(subject, {function.name, function.args, function.kwargs}, within);
  return std::any_of(findings.begin(), findings.end(),
                     [](const auth::Finding& one) { return one.kind == auth::Finding::Kind::allows; });
}

}  // namespace

Result<void> check_each_function(const auth::Permissions& permissions, const auth::Subject& subject,
                                 const lowstate::LocalCall& call) {
  if (call.functions.size() < 2) return {};
  for (const lowstate::Function& function : call.functions) {
    if (is_allowed(permissions, subject, call.target, function)) continue;
    return Error{ErrorKind::authorization, "Authorization error occurred."};
  }
  return {};
}

}  // namespace rest_fcgi::salt

// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "auth/acl_pattern.h"
#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::auth {

/// A compiled `Rule`. Immutable; thread-safe.
class AclRule {
 public:
  /// Errors: those of `AclPattern::make`.
  static Result<AclRule> make(const Rule& rule);

  /// Is it about functions on minions, rather than about runners or wheels?
  [[nodiscard]] bool is_for_minions() const noexcept { return !scope_.starts_with('@'); }

  /// Does it hold on every minion that a call would reach?
  [[nodiscard]] bool reaches(const TargetsWithin& within) const { return scope_.empty() || within(scope_); }

  /// Does one of its functions allow this call? REQUIRES: is_for_minions().
  [[nodiscard]] bool allows(const FunctionCall& call) const { return allows_as(call.name, call); }

  /// Does it allow this runner or wheel, by the form (`@runner`, `@runners`), or by the module (`@jobs`)?
  [[nodiscard]] bool allows_master(Form form, const FunctionCall& call) const;

 private:
  struct Condition {
    std::vector<std::optional<AclPattern>> args;
    std::vector<std::pair<std::string, std::optional<AclPattern>>> kwargs;
  };
  struct Function {
    AclPattern pattern;
    std::vector<Condition> conditions;
  };

  static Result<Condition> compile(const ArgumentCondition& condition);
  static Result<Function> compile(const FunctionRule& function);
  static bool holds(const Condition& condition, const FunctionCall& call);

  /// `name` is what the patterns are held against: the whole name or, below a module, what follows its dot.
  [[nodiscard]] bool allows_as(std::string_view name, const FunctionCall& call) const;

  std::string scope_;
  std::vector<Function> functions_;
};

}  // namespace rest_fcgi::auth

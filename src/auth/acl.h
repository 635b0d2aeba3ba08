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

/// What a rule says about a call, and by which of its functions. Borrows from the rule.
struct RuleMatch {
  enum class Kind {
    none,       ///< it is about other functions
    arguments,  ///< it names this one, but for other arguments
    yes,        ///< it allows it, where the target does not matter or is within its own
  };
  Kind kind = Kind::none;
  std::string_view pattern{};  ///< of the function; empty where the rule is about all of them
  std::string_view where{};    ///< `FILE:LINE`
};

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
  [[nodiscard]] RuleMatch match(const FunctionCall& call) const { return match_as(call.name, call); }

  /// Does it allow this runner or wheel, by the form (`@runner`, `@runners`), or by the module (`@jobs`)?
  [[nodiscard]] RuleMatch match_master(Form form, const FunctionCall& call) const;

  /// Does it allow all functions of its scope, with any arguments?
  [[nodiscard]] bool allows_all() const;

  [[nodiscard]] const std::string& scope() const noexcept { return scope_; }
  [[nodiscard]] const std::string& where() const noexcept { return where_; }

 private:
  struct Condition {
    std::vector<std::optional<AclPattern>> args;
    std::vector<std::pair<std::string, std::optional<AclPattern>>> kwargs;
    bool others = false;  ///< may arguments be there that it does not name?

    [[nodiscard]] bool names(std::string_view keyword) const;
    [[nodiscard]] bool holds(const CallArguments& given) const;
  };
  struct Function {
    AclPattern pattern;
    std::vector<Condition> conditions;
    std::string text;
    std::string where;
  };

  static Result<Condition> compile(const ArgumentCondition& condition);
  static Result<Function> compile(const FunctionRule& function);

  /// `name` is what the patterns are held against: the whole name or, below a module, what follows its dot.
  [[nodiscard]] RuleMatch match_as(std::string_view name, const FunctionCall& call) const;

  std::string scope_;
  std::string where_;
  std::vector<Function> functions_;
};

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/core/pattern.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::auth {

/// Compiles a regular expression with the meaning of Python's `re`. The pattern may use literals, `. ^ $ |`,
/// classes, groups `( (?: (?= (?!`, repetitions with their lazy forms, escaped punctuation and `\d \D \w \W
/// \s \S \n \r \t \A \Z`. Errors: configuration.
Result<Regex> compile_python_regex(std::string_view pattern);

/// A pattern of `external_auth`. A text without special characters, except the dot, is an exact name. Any
/// other text is a regular expression, as in Salt 3006 (`match_check` of `CkMinions`), and has to match the
/// whole name. An AclPattern is immutable and thread-safe.
class AclPattern {
 public:
  static Result<AclPattern> make(std::string_view text);

  [[nodiscard]] bool matches(std::string_view text) const;

 private:
  explicit AclPattern(std::string_view text) : text_(text) {}

  std::string text_;
  std::optional<Regex> regex_;
};

/// The result of matching a rule with a call. Borrows its texts from the rule.
struct RuleMatch {
  enum class Kind {
    none,       ///< `none` means that the rule does not allow this function.
    arguments,  ///< `arguments` means that the rule allows this function only with other arguments.
    yes,
  };
  Kind kind = Kind::none;
  std::string_view pattern{};  ///< The function pattern that matched. Empty if the rule allows all functions.
  std::string_view where{};
};

/// A compiled `Rule`. An AclRule is immutable and thread-safe.
class AclRule {
 public:
  static Result<AclRule> make(const Rule& rule);

  /// Returns whether the rule allows functions on minions. If false, the rule allows runners or wheels.
  [[nodiscard]] bool is_for_minions() const noexcept { return !scope_.starts_with('@'); }

  /// Returns whether the rule's target contains all minions that a call reaches. `within` compares a target
  /// with these minions. A rule without a target applies to all minions.
  [[nodiscard]] bool reaches(const TargetsWithin& within) const { return scope_.empty() || within(scope_); }

  /// REQUIRES: is_for_minions().
  [[nodiscard]] RuleMatch match(const FunctionCall& call) const { return match_as(call.name, call); }

  /// Matches the rule with a call of a runner or wheel. The scope of such a rule is `@runner`, `@wheel` or a
  /// module such as `@jobs`.
  [[nodiscard]] RuleMatch match_master(Form form, const FunctionCall& call) const;

  [[nodiscard]] bool allows_all() const;

  [[nodiscard]] const std::string& scope() const noexcept { return scope_; }
  [[nodiscard]] const std::string& where() const noexcept { return where_; }

 private:
  using OptionalPattern = std::optional<AclPattern>;
  struct Condition {
    std::vector<OptionalPattern> args;
    std::vector<std::pair<std::string, OptionalPattern>> kwargs;
    bool others = false;

    [[nodiscard]] bool holds(const CallArguments& given) const;
  };
  struct Function {
    AclPattern pattern;
    std::vector<Condition> conditions;
    std::string text;
    std::string where;

    [[nodiscard]] bool allows(const CallArguments& given) const;
  };

  static Result<Function> compile(const FunctionRule& function);

  /// Matches the rule's functions with `call`. If the rule's scope is a module such as `@jobs`, `name` is the
  /// name of the function without the module.
  [[nodiscard]] RuleMatch match_as(std::string_view name, const FunctionCall& call) const;

  std::string scope_;
  std::string where_;
  std::vector<Function> functions_;
};

}  // namespace rest_fcgi::auth

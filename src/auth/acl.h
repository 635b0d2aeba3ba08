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

/// Compiles a regular expression and gives it the meaning that Python's `re` gives it. The pattern may
/// contain only what `re` and PCRE2 both read: literals, `. ^ $ |`, classes, the groups `( (?: (?= (?!`, the
/// repetitions `* + ? {m} {m,} {m,n}` and their lazy forms, escaped punctuation and `\d \D \w \W \s \S \n \r
/// \t \A \Z`. Errors: configuration.
Result<Regex> compile_python_regex(std::string_view pattern);

/// A pattern of `external_auth`. A text without special characters, except the dot, is an exact name, so that
/// `test.ping` does not match `testXping`. Any other text is a regular expression, as in Salt 3006
/// (`match_check` of `CkMinions`). The expression has to match the whole name; Salt matches only the start.
/// Immutable; thread-safe.
class AclPattern {
 public:
  /// Compiles a pattern. Returns the errors of `compile_python_regex`.
  static Result<AclPattern> make(std::string_view text);

  [[nodiscard]] bool matches(std::string_view text) const;

 private:
  explicit AclPattern(std::string_view text) : text_(text) {}

  std::string text_;
  std::optional<Regex> regex_;
};

/// The result of matching a rule with a call, and the function pattern that decided. Borrows its texts from
/// the rule.
struct RuleMatch {
  enum class Kind {
    none,       ///< the rule is about other functions
    arguments,  ///< the rule names this function, but for other arguments
    yes,        ///< the rule allows the call on its target
  };
  Kind kind = Kind::none;
  std::string_view
      pattern{};             ///< the rule's pattern for the function; empty if the rule allows all functions
  std::string_view where{};  ///< the rule's place in the configuration, as `FILE:LINE`
};

/// A compiled `Rule`. Immutable; thread-safe.
class AclRule {
 public:
  /// Compiles a rule. Returns the errors of `AclPattern::make`.
  static Result<AclRule> make(const Rule& rule);

  /// Returns true if the rule is about functions on minions, and false if it is about runners or wheels.
  [[nodiscard]] bool is_for_minions() const noexcept { return !scope_.starts_with('@'); }

  /// Returns whether the rule's target contains every minion that a call would reach.
  [[nodiscard]] bool reaches(const TargetsWithin& within) const { return scope_.empty() || within(scope_); }

  /// REQUIRES: is_for_minions().
  [[nodiscard]] RuleMatch match(const FunctionCall& call) const { return match_as(call.name, call); }

  /// Matches a call of a runner or wheel. The rule's scope is a form (`@runner`, `@runners`) or a module
  /// (`@jobs`).
  [[nodiscard]] RuleMatch match_master(Form form, const FunctionCall& call) const;

  /// Returns whether the rule allows all functions of its scope with any arguments.
  [[nodiscard]] bool allows_all() const;

  [[nodiscard]] const std::string& scope() const noexcept { return scope_; }
  [[nodiscard]] const std::string& where() const noexcept { return where_; }

 private:
  using OptionalPattern = std::optional<AclPattern>;
  struct Condition {
    std::vector<OptionalPattern> args;
    std::vector<std::pair<std::string, OptionalPattern>> kwargs;
    bool others = false;  ///< true if a call may have arguments that this condition does not name

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

  /// Compares the rule's patterns with `name`. For a rule about one module, `name` is the part of the
  /// function name after the dot.
  [[nodiscard]] RuleMatch match_as(std::string_view name, const FunctionCall& call) const;

  std::string scope_;
  std::string where_;
  std::vector<Function> functions_;
};

}  // namespace rest_fcgi::auth

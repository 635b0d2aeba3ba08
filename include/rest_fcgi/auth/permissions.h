// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/auth/credentials.h"
#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/json_document.h"

namespace rest_fcgi::auth {

/// Arguments of a call. Borrows.
struct CallArguments {
  std::span<const JsonValue> args;
  std::span<const JsonMember> kwargs;
};

/// A function call, as far as rules look at it. Borrows.
struct FunctionCall {
  std::string_view name;
  CallArguments sent;  ///< the arguments in the request; Salt's rules check these

  /// The arguments that the function receives, if they differ: a text `name=value` is a keyword argument. A
  /// rule has to allow both.
  std::optional<CallArguments> received{};
};

/// Returns whether this compound target contains every minion that the call would reach. Returns false if the
/// call reaches no minion.
using TargetsWithin = std::function<bool(std::string_view compound)>;

enum class Form { runner, wheel };

/// A target in `external_auth`. Borrows from the Permissions.
struct RuleTarget {
  std::string_view compound;
  std::string_view where;  ///< `FILE:LINE`
  std::string_view eauth;
  std::string_view principal;
};

/// A user of a back end. Borrows.
struct Subject {
  std::string_view eauth;
  std::string_view name;
  std::span<const std::string> groups{};
};

/// An entry of `external_auth` that applies to a user and names a function. Borrows from the Permissions.
struct Finding {
  enum class Kind {
    allows,
    other_target,     ///< the call reaches a minion that is not in the rule's target, or no minion
    other_arguments,  ///< the arguments do not fit the rule's conditions
  };
  Kind kind;
  std::string_view principal;  ///< a user, `group%` or `*`
  std::string_view scope;      ///< a compound target, `@runner` and the like, or empty
  std::string_view pattern;    ///< of the function; empty if the rule is about all functions
  std::string_view where;      ///< `FILE:LINE`
};

/// The rules of `external_auth` in Salt's grammar (Salt's page "Access Control System"). They permit nothing
/// that Salt 3006 refuses (`CkMinions`). deploy/configuration.md, "What is refused in addition", lists the
/// differences; test_rule_properties.py compares with Salt. Immutable; thread-safe.
class Permissions {
 public:
  /// Errors: configuration, with the rule's place, for a malformed or unsupported pattern.
  static Result<std::unique_ptr<Permissions>> make(const std::vector<EauthOptions>& external_auth);
  ~Permissions();
  Permissions(const Permissions&) = delete;
  Permissions& operator=(const Permissions&) = delete;

  /// Returns whether the user may run all of these functions on the targeted minions. An empty list is not
  /// allowed.
  [[nodiscard]] bool allow_local(const Identity& identity, std::span<const FunctionCall> calls,
                                 const TargetsWithin& within) const;

  /// Returns whether the user may run this runner or wheel. A name without exactly one dot is not allowed.
  [[nodiscard]] bool allow_master(const Identity& identity, Form form, const FunctionCall& call) const;

  /// Return the entries that apply to a call of this user, in the order of the file. The call is allowed if
  /// one of them is `allows`.
  [[nodiscard]] std::vector<Finding> explain_local(const Subject& subject, const FunctionCall& call,
                                                   const TargetsWithin& within) const;
  [[nodiscard]] std::vector<Finding> explain_master(const Subject& subject, Form form,
                                                    const FunctionCall& call) const;

  /// Returns the rules that Salt's login shows a user: those of the name, of `*` and of the groups, texts in
  /// order and then maps, without duplicates: `["test.ping", {"ms-0": ["test.echo"]}]`. Without rules: `{}`.
  /// Those of `*` are always shown, as in Salt. Source: `sum_permissions` and `sorted_permissions` in Salt's
  /// netapi.
  [[nodiscard]] Json shown(const Subject& subject) const;

  /// Returns `all` for a user with the rule `@events`, or who may run everything on all minions and all
  /// runners. Returns `own` for a user with any other rule.
  [[nodiscard]] EventScope event_scope(const Subject& subject) const;

  /// Returns the targets of all rules about minions.
  [[nodiscard]] std::vector<RuleTarget> targets() const;

 private:
  struct Compiled;
  explicit Permissions(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

/// Returns whether a rule's pattern matches one of the names. A pattern that `Permissions::make` refuses
/// matches none.
[[nodiscard]] bool matches_any(std::string_view pattern, std::span<const std::string> names);

/// Returns the rules in a master's token (`Grant::auth_list`), which apply to every user of this back end.
/// Malformed entries allow nothing.
[[nodiscard]] std::unique_ptr<Permissions> permissions_in_token(const std::string& eauth, const Json& rights);

/// Removes the rules that `Permissions::make` would refuse, and returns its messages. Their users stay, so
/// that the rules of `*` do not apply to them.
[[nodiscard]] std::vector<std::string> drop_bad_rules(std::vector<EauthOptions>& external_auth);

}  // namespace rest_fcgi::auth

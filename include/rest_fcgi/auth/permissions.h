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

struct CallArguments {
  std::span<const JsonValue> args;
  std::span<const JsonMember> kwargs;
};

/// The parts of a function call that rules check. Borrows its texts.
struct FunctionCall {
  std::string_view name;
  CallArguments sent;

  /// The arguments that the function receives, if they differ from `sent`. Rules have to allow `sent` too.
  std::optional<CallArguments> received{};
};

/// A function that returns whether a compound target contains every minion that the call reaches. The
/// function returns false for a call that reaches no minion.
using TargetsWithin = std::function<bool(std::string_view compound)>;

enum class Form { runner, wheel };

/// A target of minions in `external_auth`. Borrows from the Permissions.
struct RuleTarget {
  std::string_view compound;
  std::string_view where;
  std::string_view eauth;
  std::string_view principal;
};

/// A user of a back end, whether logged in or not.
struct Subject {
  std::string_view eauth;
  std::string_view name;
  std::span<const std::string> groups{};
};

/// An entry of `external_auth` that applies to a user and names a function. Borrows from the Permissions.
struct Finding {
  enum class Kind {
    allows,
    other_target,  ///< The call reaches no minion, or a minion outside the rule's target.
    other_arguments,
  };
  Kind kind;
  std::string_view principal;  ///< The entry's name: a user, `GROUP%` or `*`.
  std::string_view scope;
  std::string_view pattern;  ///< The rule's pattern for functions. Empty for all functions.
  std::string_view where;
};

/// The rules of `external_auth`, in the grammar of Salt's page "Access Control System". Every call that Salt
/// 3006 refuses (`CkMinions`) is refused. deploy/configuration.md lists the calls that only this program
/// refuses. Permissions are immutable and thread-safe.
class Permissions {
 public:
  /// Compiles the rules. Errors: configuration, with file and line of the rule, for a malformed or
  /// unsupported pattern.
  static Result<std::unique_ptr<Permissions>> make(const std::vector<EauthOptions>& external_auth);
  ~Permissions();
  Permissions(const Permissions&) = delete;
  Permissions& operator=(const Permissions&) = delete;

  /// Returns whether the user may run all of these functions on the targeted minions. Returns false if
  /// `calls` is empty.
  [[nodiscard]] bool allow_local(const Identity& identity, std::span<const FunctionCall> calls,
                                 const TargetsWithin& within) const;

  /// Returns whether the user may run this runner or wheel. Returns false for a name without exactly one dot.
  [[nodiscard]] bool allow_master(const Identity& identity, Form form, const FunctionCall& call) const;

  /// Returns the entries that apply to a call of this user, in the order of the file. An entry of the kind
  /// `allows` allows the call.
  [[nodiscard]] std::vector<Finding> explain_local(const Subject& subject, const FunctionCall& call,
                                                   const TargetsWithin& within) const;
  [[nodiscard]] std::vector<Finding> explain_master(const Subject& subject, Form form,
                                                    const FunctionCall& call) const;

  /// Returns the rules that a login shows the user, such as `["test.ping", {"ms-0": ["test.echo"]}]`, or `{}`
  /// without rules. As in Salt, the rules of `*` are always shown (`sum_permissions` and `sorted_permissions`
  /// in Salt's netapi).
  [[nodiscard]] Json shown(const Subject& subject) const;

  /// Returns which events a user may see. The rule `@events` or all rights give `all`, and any other rule
  /// gives `own`.
  [[nodiscard]] EventScope event_scope(const Subject& subject) const;

  /// Returns whether the user has the rule `@metrics`.
  [[nodiscard]] bool can_read_metrics(const Subject& subject) const;

  [[nodiscard]] std::vector<RuleTarget> targets() const;

 private:
  struct Compiled;
  explicit Permissions(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

/// Returns whether a rule's pattern matches one of the names. Returns false for a pattern that
/// `Permissions::make` refuses.
[[nodiscard]] bool matches_any(std::string_view pattern, std::span<const std::string> names);

/// Returns the rules in a master's token (`Grant::auth_list`), for every user of this back end. Malformed
/// entries allow nothing.
[[nodiscard]] std::unique_ptr<Permissions> permissions_in_token(const std::string& eauth, const Json& rights);

/// Removes the rules that `Permissions::make` would refuse, and returns a message for each. A user without
/// remaining rules keeps an empty entry, so that the rules of `*` do not apply.
[[nodiscard]] std::vector<std::string> drop_bad_rules(std::vector<EauthOptions>& external_auth);

}  // namespace rest_fcgi::auth

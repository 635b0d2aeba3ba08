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

/// The parts of a function call that the rules of `external_auth` check. Borrows its texts.
struct FunctionCall {
  std::string_view name;
  CallArguments sent;

  /// The arguments that the function receives, after a text `name=value` has become a keyword argument.
  /// Absent if they are equal to `sent`. If present, the rules have to allow both `sent` and `received`.
  std::optional<CallArguments> received{};
};

/// A function that returns whether a compound target contains every minion that a call reaches. The function
/// returns false if the call reaches no minion.
using TargetsWithin = std::function<bool(std::string_view compound)>;

enum class Form { runner, wheel };

/// A target in a rule of `external_auth`, with the place of the rule. Borrows from the Permissions.
struct RuleTarget {
  std::string_view compound;
  std::string_view where;
  std::string_view eauth;
  std::string_view principal;
};

/// A user of a back end. The user need not be logged in.
struct Subject {
  std::string_view eauth;
  std::string_view name;
  std::span<const std::string> groups{};
};

/// A rule that names the function of a user's call, and whether this rule allows the call. Borrows from the
/// Permissions.
struct Finding {
  enum class Kind {
    allows,
    /// The rule's target does not contain all minions that the call reaches, or the call reaches no minion.
    other_target,
    other_arguments,
  };
  Kind kind;
  std::string_view principal;  ///< The name of the entry in `external_auth`: a user, `GROUP%` or `*`.
  std::string_view scope;
  /// The pattern that matches the function. Empty if the rule allows all functions.
  std::string_view pattern;
  std::string_view where;
};

/// The rules of `external_auth`, in the grammar of Salt's page "Access Control System". Permissions refuse
/// every call that Salt 3006 refuses (`CkMinions`). deploy/configuration.md lists the calls that Salt allows
/// but this program refuses. Permissions are immutable and thread-safe.
class Permissions {
 public:
  /// Compiles the rules of `external_auth`. Errors: configuration, for a malformed or unsupported pattern.
  /// The message has file and line of the rule.
  static Result<std::unique_ptr<Permissions>> make(const std::vector<EauthOptions>& external_auth);
  ~Permissions();
  Permissions(const Permissions&) = delete;
  Permissions& operator=(const Permissions&) = delete;

  /// Returns whether the user may make all `calls`. The function `within` compares the target of a rule with
  /// the minions that the calls reach. Returns false if `calls` is empty.
  [[nodiscard]] bool allow_local(const Identity& identity, std::span<const FunctionCall> calls,
                                 const TargetsWithin& within) const;

  /// Returns whether the user may run this runner or wheel. Refuses a function whose name is not
  /// `MODULE.FUNCTION` with exactly one dot.
  [[nodiscard]] bool allow_master(const Identity& identity, Form form, const FunctionCall& call) const;

  /// Returns the user's rules that name the function of the call, in the order of the file. The call is
  /// allowed if at least one Finding has the kind `allows`.
  [[nodiscard]] std::vector<Finding> explain_local(const Subject& subject, const FunctionCall& call,
                                                   const TargetsWithin& within) const;
  [[nodiscard]] std::vector<Finding> explain_master(const Subject& subject, Form form,
                                                    const FunctionCall& call) const;

  /// Returns the rules that the reply to a login shows, such as `["test.ping", {"ms-0": ["test.echo"]}]`.
  /// Returns `{}` if no rules apply to the user. As in Salt, the reply shows the rules of `*` even if they do
  /// not apply to this user (`sum_permissions` and `sorted_permissions` in Salt's netapi).
  [[nodiscard]] Json shown(const Subject& subject) const;

  /// Returns which events a user may see. The rule `@events`, or all rights, allow all events. Any other rule
  /// allows the events of the user's own jobs.
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

/// Makes Permissions from the rights in a token of a Salt master (`Grant::auth_list`). These rights have no
/// user name, so the rules apply to every user of the back end `eauth`. Malformed entries allow nothing.
[[nodiscard]] std::unique_ptr<Permissions> permissions_in_token(const std::string& eauth, const Json& rights);

/// Removes the rules that `Permissions::make` would refuse, and returns a message for each removed rule. A
/// user who has no rules afterwards still has an entry, so that the rules of `*` do not apply to this user.
[[nodiscard]] std::vector<std::string> drop_bad_rules(std::vector<EauthOptions>& external_auth);

}  // namespace rest_fcgi::auth

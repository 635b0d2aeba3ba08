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

/// What somebody wants to run, as far as rules look at it. Borrows.
struct FunctionCall {
  std::string_view name;
  CallArguments sent;  ///< what Salt's rules look at

  /// What the function gets, where that is something else: a text `name=value` is a keyword argument. A rule
  /// has to allow both.
  std::optional<CallArguments> received{};
};

/// Does this compound target hold every minion that the call would reach? False where the call reaches none.
using TargetsWithin = std::function<bool(std::string_view compound)>;

enum class Form { runner, wheel };

/// A target of `external_auth`, where it stands, `FILE:LINE`, and whose it is. Borrows from the Permissions.
struct RuleTarget {
  std::string_view compound;
  std::string_view where;
  std::string_view eauth;
  std::string_view principal;
};

/// A user of a back end, for questions about the rules that apply to them. Borrows.
struct Subject {
  std::string_view eauth;
  std::string_view name;
  std::span<const std::string> groups{};
};

/// A line of `external_auth` that applies to somebody and names a function. Borrows from the Permissions.
struct Finding {
  enum class Kind {
    allows,
    other_target,     ///< it would, but the call reaches a minion that it does not hold, or none
    other_arguments,  ///< it would, with arguments that fit its conditions
  };
  Kind kind;
  std::string_view principal;  ///< as it stands there: a user, `group%` or `*`
  std::string_view scope;      ///< a compound target, `@runner` and the like, or empty
  std::string_view pattern;    ///< of the function; empty where the rule is about all of them
  std::string_view where;      ///< `FILE:LINE`
};

/// The rules of `external_auth`, Salt's grammar (its page "Access Control System"). Nothing is permitted that
/// Salt 3006 refuses (`CkMinions`); what is refused in addition stands in a table of deploy/configuration.md,
/// "What is refused in addition", and is compared with Salt's own answers by test_rule_properties.py. A
/// pattern is an exact text or a regular expression in Python's reading. Immutable; thread-safe.
class Permissions {
 public:
  /// Errors: configuration, for a pattern that is no regular expression, or one that Python may read
  /// otherwise, with the rule's place.
  static Result<std::unique_ptr<Permissions>> make(const std::vector<EauthOptions>& external_auth);
  ~Permissions();
  Permissions(const Permissions&) = delete;
  Permissions& operator=(const Permissions&) = delete;

  /// May they run all of these functions on the targeted minions? An empty list is not allowed.
  [[nodiscard]] bool allow_local(const Identity& identity, std::span<const FunctionCall> calls,
                                 const TargetsWithin& within) const;

  /// May they run this runner or wheel? A name without exactly one dot is not allowed.
  [[nodiscard]] bool allow_master(const Identity& identity, Form form, const FunctionCall& call) const;

  /// The lines that say something about this call of somebody, in the order of the file; and the same for a
  /// runner or wheel. One that `allow_local` or `allow_master` would follow is among them as `allows`.
  [[nodiscard]] std::vector<Finding> explain_local(const Subject& subject, const FunctionCall& call,
                                                   const TargetsWithin& within) const;
  [[nodiscard]] std::vector<Finding> explain_master(const Subject& subject, Form form,
                                                    const FunctionCall& call) const;

  /// What Salt's login shows of the rules that are written for somebody: those of their name, of `*` and of
  /// their groups, texts in order and then maps, each once: `["test.ping", {"ms-0": ["test.echo"]}]`; none:
  /// `{}`. Unlike what is enforced it has those of `*` in any case, as Salt's has. Source: `sum_permissions`
  /// and `sorted_permissions` in Salt's netapi.
  [[nodiscard]] Json shown(const Subject& subject) const;

  /// Which events they may see: all of them with the rule `@events`, and for whoever may run everything, on
  /// all minions and as a runner; their own jobs' with any other rule.
  [[nodiscard]] EventScope event_scope(const Subject& subject) const;

  /// The targets of all rules about minions.
  [[nodiscard]] std::vector<RuleTarget> targets() const;

 private:
  struct Compiled;
  explicit Permissions(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

/// Returns whether a function of a rule matches one of the names, as `Permissions` compares them. A pattern
/// that `Permissions::make` refuses matches none.
[[nodiscard]] bool matches_any(std::string_view pattern, std::span<const std::string> names);

/// Returns the rights in a master's token (`Grant::auth_list`), which apply to every subject of this back
/// end. An entry that is no rule allows nothing. Salt's grammar, see `Permissions`.
[[nodiscard]] std::unique_ptr<Permissions> permissions_in_token(const std::string& eauth, const Json& rights);

/// Takes away the rules that `Permissions::make` would refuse, and returns its messages. For rules that
/// somebody else enforces: without one, less is allowed here, since the user that it is for stays.
[[nodiscard]] std::vector<std::string> drop_bad_rules(std::vector<EauthOptions>& external_auth);

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rest_fcgi/auth/credentials.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/etcd/options.h"

namespace rest_fcgi::auth {

/// Conditions on the arguments of a function call. The call has to have each argument in `args` and `kwargs`,
/// with a value that matches the argument's pattern. An absent pattern allows any value. If `others` is
/// false, the call must not have further arguments.
struct ArgumentCondition {
  std::vector<std::optional<std::string>> args;
  std::vector<std::pair<std::string, std::optional<std::string>>> kwargs;
  /// Whether a call may have arguments that have no condition. Salt always allows such arguments.
  bool others = false;
};

/// A function name or pattern, with conditions on the arguments. If there are `conditions`, a call has to
/// fulfil at least one of them.
struct FunctionRule {
  std::string pattern;
  std::vector<ArgumentCondition> conditions;
  std::string where{};  ///< Where the rule is, as `FILE:LINE`. May be empty.
};

struct Rule {
  /// The place where the functions may run: a compound target of minions, or an empty text for any minion. A
  /// rule for runners or wheels has the scope `@runner`, `@wheel` or a module such as `@jobs`.
  std::string scope;
  /// The allowed functions. If `scope` begins with `@`, an empty list allows all functions of the scope.
  std::vector<FunctionRule> functions;
  std::string where{};  ///< Where the rule is, as `FILE:LINE`. May be empty.
};

/// An entry of `external_auth`: the rules of a user, of a group (`GROUP%`), or of every user without another
/// entry (`*`).
struct Principal {
  std::string name;
  std::vector<Rule> rules;
};

struct EauthOptions {
  std::string name;
  /// The names and values of the back end's options. An option such as `^filename` has its name here without
  /// the `^`.
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<Principal> principals;
};

/// The limits on password guesses. A failure is a login that counts as a wrong password.
struct LoginGuardOptions {
  /// The number of failures after which logins of a user from an address are refused. 0 turns off all limits.
  unsigned tries = 10;
  /// The number of failures after which all logins from an address are refused.
  unsigned address_tries = 100;
  std::chrono::seconds window{300};  ///< `window` is the time span in which failures are counted.
  std::chrono::seconds refuse{300};  ///< `refuse` is how long logins are refused after too many failures.
  std::size_t threads = 1024;
  /// How many threads at a time may delay the reply to a failed login.
  std::size_t max_delayed = 64;
  /// How many threads at a time may wait for the end of other logins of the same user or address. This is
  /// also the largest number of threads that wait to compute a password's hash.
  std::size_t max_queued = 512;
};

struct PamOptions {
  std::string service = "login";  ///< `service` is a file name in /etc/pam.d: Salt's `auth.pam.service`.
  std::string helper;             ///< `helper` is the path of rest_fcgi_pam, or `unix:PATH` of its socket.
  /// `max_helpers` limits the helper processes, and so the concurrent conversations with PAM.
  std::size_t max_helpers = 4;
  std::size_t max_waiting = 64;  ///< `max_waiting` limits the threads that wait for a free helper process.
  /// `timeout` limits the wait for a free helper process, and then again the wait for PAM's answer.
  std::chrono::milliseconds timeout{30000};
};

/// The etcd cluster with API v3 that stores tokens.
struct TokensInEtcd {
  etcd::Options cluster;
  std::string root = "/salt/tokens";  ///< The prefix of the tokens' keys, without a slash at the end.
};

struct Options {
  std::vector<EauthOptions> external_auth;
  Secret sharedsecret;
  /// Whether the back end `auto` accepts any password, for tests only.
  bool allow_auto_eauth = false;
  /// The etcd cluster that stores tokens. Absent if the SQLite store has the tokens.
  std::optional<TokensInEtcd> tokens_in_etcd;
  std::chrono::seconds token_expire{43200};
  TokenLifeRule token_expire_user_override;
  /// How long a correct password is remembered. If 0, each request checks its password again.
  std::chrono::seconds auth_cache_ttl{30};
  LoginGuardOptions login_guard;
  PamOptions pam;
};

}  // namespace rest_fcgi::auth

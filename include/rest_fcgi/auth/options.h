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

/// Conditions on the arguments of a call. All conditions have to hold. An absent pattern allows any value.
/// Unless `others` is true, a call must not have arguments without a condition.
struct ArgumentCondition {
  std::vector<std::optional<std::string>> args;
  std::vector<std::pair<std::string, std::optional<std::string>>> kwargs;
  bool others = false;  ///< Whether a call may have arguments without a condition, as in Salt.
};

/// A function name or pattern with conditions. At least one condition has to hold.
struct FunctionRule {
  std::string pattern;
  std::vector<ArgumentCondition> conditions;
  std::string where{};  ///< The place `FILE:LINE` of the rule, or empty.
};

struct Rule {
  /// The place where the functions may run: a compound target of minions, or `@runner`, `@wheel` or `@jobs`
  /// for functions of the master. Empty for any minion.
  std::string scope;
  /// The allowed functions. For `@runner` and similar scopes, an empty list allows all functions.
  std::vector<FunctionRule> functions;
  std::string where{};  ///< The place `FILE:LINE` of the rule, or empty.
};

/// The rules of a user, of a group (`GROUP%`), or of every user without an entry (`*`).
struct Principal {
  std::string name;
  std::vector<Rule> rules;
};

struct EauthOptions {
  std::string name;
  /// The names and values of options such as `^filename`, without the `^`.
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<Principal> principals;
};

/// The limits on password guesses. A failure is a failed login.
struct LoginGuardOptions {
  /// The number of failures after which a user is refused at an address. 0 turns off all limits on guesses.
  unsigned tries = 10;
  unsigned address_tries = 100;      ///< The number of failures after which an address is refused.
  std::chrono::seconds window{300};  ///< The time span in which failures are counted.
  std::chrono::seconds refuse{300};  ///< The time for which a user or address is refused.
  std::size_t threads = 1024;
  std::size_t max_delayed = 64;  ///< How many threads may delay replies to failures.
  /// How many threads may wait until other attempts have ended, or until a password's hash can be computed.
  std::size_t max_queued = 512;
};

struct PamOptions {
  std::string service = "login";  ///< The name of a file in /etc/pam.d: Salt's `auth.pam.service`.
  std::string helper;             ///< The path of rest_fcgi_pam, or `unix:PATH` of its socket.
  /// The number of concurrent conversations with PAM.
  std::size_t max_helpers = 4;
  std::size_t max_waiting = 64;  ///< How many threads may wait for a PAM conversation.
  /// The longest wait for a PAM conversation, and the longest wait for PAM's answer.
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
  /// The cluster with the tokens. Absent if the store holds the tokens.
  std::optional<TokensInEtcd> tokens_in_etcd;
  std::chrono::seconds token_expire{43200};
  TokenLifeRule token_expire_user_override;
  /// How long a correct password is remembered. 0 if each request checks the password.
  std::chrono::seconds auth_cache_ttl{30};
  LoginGuardOptions login_guard;
  PamOptions pam;
};

}  // namespace rest_fcgi::auth

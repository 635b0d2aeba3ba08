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

/// Conditions on the arguments of a call. All conditions have to hold. An absent pattern allows any value. A
/// call with an argument that the conditions do not name is refused, because such an argument can change what
/// runs. For example, `cmd.run` has arguments for the environment and the shell.
struct ArgumentCondition {
  std::vector<std::optional<std::string>> args;
  std::vector<std::pair<std::string, std::optional<std::string>>> kwargs;
  bool others = false;  ///< whether a call may have further arguments, as in Salt
};

/// A function name or pattern, with conditions. If there are no conditions, any arguments are allowed. If
/// there are several conditions, one of them has to hold.
struct FunctionRule {
  std::string pattern;
  std::vector<ArgumentCondition> conditions;
  std::string where{};  ///< place of the rule, `FILE:LINE`; empty if the rule is from no file
};

/// One entry of a user's list in `external_auth`.
struct Rule {
  /// The minions or the part of the master where the functions may run. An empty scope means any minion.
  /// `@runner`, `@wheel` or `@jobs` means functions of the master. Any other text is a compound target of
  /// minions.
  std::string scope;
  /// The allowed functions. With a scope such as `@runner`, an empty list allows all functions.
  std::vector<FunctionRule> functions;
  std::string where{};  ///< place of the rule, `FILE:LINE`; empty if the rule is from no file
};

/// A user or group with its rules. The name is a user name, `GROUP%` for a group, or `*` for every user
/// without an entry of their own.
struct Principal {
  std::string name;
  std::vector<Rule> rules;
};

/// The part of `external_auth` for one back end.
struct EauthOptions {
  std::string name;  ///< the back end: `file`, `pam`, `sharedsecret` or `auto`
  /// The names and values of options such as `^filename`, without the `^`.
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<Principal> principals;
};

/// The limits on password guesses. A failure is a failed login.
struct LoginGuardOptions {
  /// The number of failures of one user from one address after which this pair is refused. 0 means no limits.
  unsigned tries = 10;
  unsigned address_tries = 100;      ///< number of failures after which an address is refused
  std::chrono::seconds window{300};  ///< time span in which failures are counted
  std::chrono::seconds refuse{300};  ///< time for which a user or address is refused
  std::size_t threads = 1024;        ///< number of threads of the process; logins leave a tenth of these free
  std::size_t max_delayed = 64;  ///< number of threads that may delay the reply to a failure at the same time
  /// The number of threads that may wait for the attempts of other logins. The same number may wait to
  /// compute a hash.
  std::size_t max_queued = 512;
};

/// Options of the eauth back end `pam`.
struct PamOptions {
  std::string service = "login";  ///< Salt's `auth.pam.service`: name of a file in /etc/pam.d
  std::string helper;             ///< path of rest_fcgi_pam, or `unix:PATH` of its socket
  /// The number of concurrent conversations with PAM. If there are several, one address never uses all of
  /// them.
  std::size_t max_helpers = 4;
  std::size_t max_waiting = 64;  ///< number of threads that may wait for a conversation with PAM
  /// The longest wait for a free conversation, and then the longest wait for PAM's answer.
  std::chrono::milliseconds timeout{30000};
};

/// Where tokens are stored as keys of an etcd cluster with API v3.
struct TokensInEtcd {
  etcd::Options cluster;
  std::string root = "/salt/tokens";  ///< prefix of the tokens' keys, without a slash at its end
};

struct Options {
  std::vector<EauthOptions> external_auth;
  Secret sharedsecret;  ///< Salt's `sharedsecret`
  /// Whether the back end `auto` exists, which accepts any password; for tests only.
  bool allow_auto_eauth = false;
  /// How to reach tokens in etcd. Absent if the store holds the tokens.
  std::optional<TokensInEtcd> tokens_in_etcd;
  std::chrono::seconds token_expire{43200};
  TokenLifeRule token_expire_user_override;
  /// How long a correct password is remembered; 0 means that each request checks the password.
  std::chrono::seconds auth_cache_ttl{30};
  LoginGuardOptions login_guard;
  PamOptions pam;
};

}  // namespace rest_fcgi::auth

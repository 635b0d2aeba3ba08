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

/// Conditions on the arguments of a call; all of them have to hold. An absent pattern allows any value. An
/// argument that the conditions do not name must not be there, since it can change what runs: `cmd.run` takes
/// an environment and a shell.
struct ArgumentCondition {
  std::vector<std::optional<std::string>> args;
  std::vector<std::pair<std::string, std::optional<std::string>>> kwargs;
  bool others = false;  ///< allows arguments that are not named here, as Salt does
};

/// A function name or pattern. Without conditions any arguments are allowed; of several conditions one has to
/// hold.
struct FunctionRule {
  std::string pattern;
  std::vector<ArgumentCondition> conditions;
  std::string where{};  ///< `FILE:LINE`; empty if the rule is from no file
};

/// One entry of a user's list in `external_auth`.
struct Rule {
  /// Empty: on any minion. `@runner`, `@wheel`, `@jobs`, ...: not on minions. Else a compound target.
  std::string scope;
  std::vector<FunctionRule> functions;  ///< allowed functions; for an `@` scope, empty means all functions
  std::string where{};                  ///< `FILE:LINE`; empty if the rule is from no file
};

/// A user, `*` (any user without an entry), or `group%`.
struct Principal {
  std::string name;
  std::vector<Rule> rules;
};

/// One back end's part of `external_auth`.
struct EauthOptions {
  std::string name;                                           ///< file, pam, sharedsecret, auto
  std::vector<std::pair<std::string, std::string>> settings;  ///< `^filename` and the like, without the `^`
  std::vector<Principal> principals;
};

/// The limits on password guesses.
struct LoginGuardOptions {
  unsigned tries = 10;  ///< failures of one user from one address until they are refused; 0: no limits
  unsigned address_tries = 100;      ///< failures of one address until it is refused
  std::chrono::seconds window{300};  ///< in which failures are counted
  std::chrono::seconds refuse{300};  ///< how long a user or address is refused
  std::size_t threads = 1024;        ///< of the process; logins leave a tenth of them free
  std::size_t max_delayed = 64;      ///< threads that may wait before they answer a failure
  std::size_t max_queued = 512;      ///< threads that may wait for others' attempts, and as many for a hash
};

/// The eauth back end `pam`.
struct PamOptions {
  std::string service = "login";  ///< Salt's `auth.pam.service`: a file in /etc/pam.d
  std::string helper;             ///< path of rest_fcgi_pam, or `unix:PATH` of its socket
  std::size_t max_helpers = 4;    ///< concurrent conversations with PAM; one address never has all of several
  std::size_t max_waiting = 64;   ///< threads that may wait for a conversation
  std::chrono::milliseconds timeout{30000};  ///< for a login's turn, and as much for PAM's answer
};

/// Tokens as keys of an etcd cluster, API v3.
struct TokensInEtcd {
  etcd::Options cluster;
  std::string root = "/salt/tokens";  ///< without a slash at its end
};

struct Options {
  std::vector<EauthOptions> external_auth;
  Secret sharedsecret;                         ///< Salt's `sharedsecret`
  bool allow_auto_eauth = false;               ///< `auto` accepts any password: for tests only
  std::optional<TokensInEtcd> tokens_in_etcd;  ///< else tokens are in the store
  std::chrono::seconds token_expire{43200};
  TokenLifeRule token_expire_user_override;
  std::chrono::seconds auth_cache_ttl{30};  ///< how long a verified password is remembered; 0: not at all
  LoginGuardOptions login_guard;
  PamOptions pam;
};

}  // namespace rest_fcgi::auth

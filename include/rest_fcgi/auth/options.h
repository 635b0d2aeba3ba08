// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

/// Conditions on the arguments of a call; all of them have to hold. Absent pattern: any value.
struct ArgumentCondition {
  std::vector<std::optional<std::string>> args;
  std::vector<std::pair<std::string, std::optional<std::string>>> kwargs;
};

/// One function name or pattern. Without conditions any arguments will do; of several conditions one has to
/// hold.
struct FunctionRule {
  std::string pattern;
  std::vector<ArgumentCondition> conditions;
};

/// One entry of a user's list in `external_auth`.
struct Rule {
  /// Empty: on any minion. `@runner`, `@wheel`, `@jobs`, ...: not on minions. All else is a compound target.
  std::string scope;
  std::vector<FunctionRule> functions;  ///< empty, for an `@` scope: all of them
};

/// A user, `*` (any user that nothing else names), or `group%`.
struct Principal {
  std::string name;
  std::vector<Rule> rules;
};

/// One back end's part of `external_auth`.
struct EauthOptions {
  std::string name;                                           ///< file, sharedsecret, auto
  std::vector<std::pair<std::string, std::string>> settings;  ///< `^filename` and the like, without the `^`
  std::vector<Principal> principals;
};

struct Options {
  std::vector<EauthOptions> external_auth;
  Secret sharedsecret;            ///< Salt's `sharedsecret`; empty: the back end is off
  bool allow_auto_eauth = false;  ///< `auto` takes any password: for tests only
  std::string token_dir;          ///< empty: no tokens
  /// Nobody chose `token_dir`: where it cannot be had, tokens are off and the log says so. Else it is a
  /// mistake.
  bool token_dir_is_default = false;
  std::chrono::seconds token_expire{43200};
  std::chrono::seconds auth_cache_ttl{30};  ///< how long a verified password is remembered; 0: not at all
};

}  // namespace rest_fcgi::auth

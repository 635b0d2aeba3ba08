// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/auth/credentials.h"
#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::auth {

class Logins;
struct LoginMemory;
class TokenStore;
struct Eauth;
struct Login;
struct TokenRecord;

/// A token that is good now, and whose it is.
struct TokenLogin {
  Secret token;
  Identity identity;
  WallTime start;
  WallTime expire;
};

/// Turns credentials into an Identity: the one place where a password or token is checked. Thread-safe.
///
/// Every failure is the same Error for the caller, `Authorization error occurred.`, whoever the user is and
/// whatever was wrong; the log has the stage and the cause. An unknown user or an unknown back end
/// costs what a wrong password costs. Passwords go through `Logins`: who fails is made to wait, and after too
/// many failures refused for a while; what was good is remembered for `auth_cache_ttl`. A token is looked up
/// each time. User names over 256 and passwords over 1024 bytes are refused before any hash.
class Authenticator {
 public:
  /// Without `memory` it has one of its own. Errors: configuration, for a back end that cannot work as it is
  /// configured; those of `open_login_memory`.
  static Result<std::unique_ptr<Authenticator>> make(const Options& options, const Clock& clock,
                                                     std::shared_ptr<const LoginMemory> memory = nullptr);
  ~Authenticator();
  Authenticator(const Authenticator&) = delete;
  Authenticator& operator=(const Authenticator&) = delete;

  /// All calls with one `deadline` are taken for one request's, see `Logins::login`. Errors: authentication;
  /// throttled; timeout, where it waited for others until `deadline`; internal or unavailable where a back
  /// end failed by itself (an unreadable password file, say).
  [[nodiscard]] Result<Identity> authenticate(const Credentials& credentials, SteadyTime deadline);

  /// Stores a new token for a user. It lives for `life` where that is given and `token_expire_user_override`
  /// lets this user choose; else for `token_expire`. Errors: invocation where tokens are off; internal where
  /// it cannot be stored; unavailable where tokens are out of reach.
  [[nodiscard]] Result<TokenLogin> make_token(const Identity& identity,
                                              std::optional<std::chrono::milliseconds> life = {});

  /// Who holds this token. Unlike `authenticate` it counts no failure: a browser comes back again and again
  /// with a token that has expired, and its user has to be able to log in. Errors: authentication;
  /// unavailable.
  [[nodiscard]] Result<TokenLogin> holder(SecretView token) const;

  /// Ends a token for good. Errors: those of `holder`; internal, where it cannot be removed: then it still
  /// is good.
  [[nodiscard]] Result<void> end_token(SecretView token);

  /// The names of the back ends that are on.
  [[nodiscard]] std::vector<std::string> eauths() const;

 private:
  Authenticator(std::shared_ptr<const LoginMemory> memory, const Clock& clock);
  Result<Identity> by_eauth(const Credentials& credentials, SteadyTime deadline);
  [[nodiscard]] Error refuse_unknown_eauth(const Login& login) const;
  Result<Identity> by_token(const Credentials& credentials, SteadyTime deadline);
  [[nodiscard]] Result<Identity> identity_of(TokenRecord record, const Credentials& credentials) const;

  // constant after construction; each synchronizes itself
  std::shared_ptr<const LoginMemory> memory_;
  std::unique_ptr<const Clock> never_back_;  // for tokens
  std::vector<Eauth> eauths_;
  TokenLifeRule token_life_rule_;
  std::unique_ptr<TokenStore> tokens_;  // null: they are off
  std::unique_ptr<Logins> logins_;
};

/// Ends all tokens of a user in all processes, those that any back end vouched for where `eauth` is empty.
/// How many there were. Errors: configuration, where tokens are off or out of this process's reach;
/// unavailable or internal, with the cause: then some may be good yet.
[[nodiscard]] Result<std::size_t> end_tokens_of(const Options& options, std::string_view eauth,
                                                std::string_view username, const Clock& clock);

}  // namespace rest_fcgi::auth

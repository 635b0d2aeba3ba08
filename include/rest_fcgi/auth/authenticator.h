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
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::auth {

class Logins;
class PasswordHashLimiter;
class Tokens;
struct Eauth;
struct Login;
struct TokenRecord;

/// A good token and its user.
struct TokenLogin {
  Secret token;
  Identity identity;
  WallTime start;
  WallTime expire;
};

/// Turns credentials into an Identity: the one place where a password or token is checked. Thread-safe.
///
/// Every failure is the same Error for the caller, `Authorization error occurred.`, whatever was wrong; the
/// log has the stage and the cause. An unknown user or back end costs what a wrong password costs. Passwords
/// go through `Logins`, which slows and refuses guesses and remembers good passwords for `auth_cache_ttl`. A
/// token is looked up each time. User names over 256 and passwords over 1024 bytes are refused before any
/// hash.
class Authenticator {
 public:
  /// `clock` must outlive the result. Without `store`, and without `limiter`, it has one of its own. Errors:
  /// configuration, for a back end that cannot work as it is configured.
  static Result<std::unique_ptr<Authenticator>> make(const Options& options, const Clock& clock,
                                                     std::shared_ptr<store::Store> store = nullptr,
                                                     std::shared_ptr<PasswordHashLimiter> limiter = nullptr);
  ~Authenticator();
  Authenticator(const Authenticator&) = delete;
  Authenticator& operator=(const Authenticator&) = delete;

  /// All calls with one `deadline` belong to one request, see `Logins::login`. Errors: authentication;
  /// throttled; timeout, where it waited for others until `deadline`; internal or unavailable where a back
  /// end failed by itself, as with an unreadable password file.
  [[nodiscard]] Result<Identity> authenticate(const Credentials& credentials, SteadyTime deadline);

  /// Stores a new token for a user, durably. It lives for `life` where that is given and
  /// `token_expire_user_override` lets this user choose; else for `token_expire`. Errors: internal or
  /// unavailable, where it cannot be stored.
  [[nodiscard]] Result<TokenLogin> make_token(const Identity& identity,
                                              std::optional<std::chrono::milliseconds> life = {});

  /// Returns the user of a token. Unlike `authenticate` it counts no failure: a browser comes back again and
  /// again with a token that has expired, and its user has to be able to log in. Errors: authentication;
  /// unavailable.
  [[nodiscard]] Result<TokenLogin> holder(SecretView token) const;

  /// Revokes a token, durably. Errors: those of `holder`; internal, where the token is still good.
  [[nodiscard]] Result<void> revoke_token(SecretView token);

  /// Returns the names of the back ends that are on.
  [[nodiscard]] std::vector<std::string> eauths() const;

 private:
  Authenticator();
  Result<Identity> by_eauth(const Credentials& credentials, SteadyTime deadline);
  [[nodiscard]] Error refuse_unknown_eauth(const Login& login) const;
  Result<Identity> by_token(const Credentials& credentials, SteadyTime deadline);
  [[nodiscard]] Result<Identity> identity_of(TokenRecord record, const Credentials& credentials) const;

  // constant after construction; each synchronizes itself
  std::vector<Eauth> eauths_;
  TokenLifeRule token_life_rule_;
  std::unique_ptr<Tokens> tokens_;
  std::unique_ptr<Logins> logins_;
};

/// Revokes all tokens of a user in all processes, those of all back ends where `eauth` is empty. Returns how
/// many were good. The store is needed where tokens are not in etcd. Errors: configuration; unavailable or
/// internal, where some may still be good.
[[nodiscard]] Result<std::size_t> revoke_tokens_of(const Options& options,
                                                   std::shared_ptr<store::Store> store,
                                                   std::string_view eauth, std::string_view username,
                                                   const Clock& clock);

}  // namespace rest_fcgi::auth

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

class LoginCounts;
class Logins;
class PasswordHashLimiter;
class Tokens;
struct Eauth;

struct TokenLogin {
  Secret token;
  Identity identity;
  WallTime start;
  WallTime expire;
};

/// Checks passwords and tokens, and makes the Identity of their user. An Authenticator is thread-safe.
///
/// An unknown user and a wrong password give the same answer after the same time. `Logins` limits password
/// guesses and remembers correct passwords for `auth_cache_ttl`.
class Authenticator {
 public:
  /// Makes an authenticator that borrows `clock`. If `store` is null, the authenticator keeps tokens in
  /// memory. Errors: configuration, for a back end that cannot work with its settings.
  static Result<std::unique_ptr<Authenticator>> make(const Options& options, const Clock& clock,
                                                     std::shared_ptr<store::Store> store = nullptr,
                                                     std::shared_ptr<PasswordHashLimiter> limiter = nullptr,
                                                     std::shared_ptr<LoginCounts> counts = nullptr);
  ~Authenticator();
  Authenticator(const Authenticator&) = delete;
  Authenticator& operator=(const Authenticator&) = delete;

  /// Checks credentials and returns their user. Errors: authentication, for wrong credentials; throttled,
  /// after too many failed logins; timeout, if the check could not start before `deadline`; internal or
  /// unavailable, if a back end failed.
  Result<Identity> authenticate(const Credentials& credentials, SteadyTime deadline);

  /// Makes a token for a user. The token is valid for the time `life`, if `life` is given and
  /// `token_expire_user_override` lets this user choose. Otherwise, the token is valid for `token_expire`.
  /// The token survives a power cut. Errors: internal; unavailable.
  Result<TokenLogin> make_token(const Identity& identity, std::optional<std::chrono::milliseconds> life = {});

  /// Returns a valid token with its user. Errors: authentication, for an unknown or expired token;
  /// unavailable.
  Result<TokenLogin> holder(SecretView token) const;

  /// Revokes a token. The revocation survives a power cut. Errors: authentication, for an unknown or expired
  /// token; unavailable; internal. After the error unavailable or internal, the token may still be valid.
  Result<void> revoke_token(SecretView token);

  [[nodiscard]] std::vector<std::string> eauths() const;

 private:
  Authenticator();

  std::vector<Eauth> eauths_;
  TokenLifeRule token_life_rule_;
  std::unique_ptr<Tokens> tokens_;
  std::unique_ptr<Logins> logins_;
};

/// Revokes the tokens of the users with this name in the back end `eauth`, or in all back ends if `eauth` is
/// empty. Returns how many of these tokens were valid. `store` may be null if tokens are in etcd. Errors:
/// configuration, unavailable or internal. After an error, some tokens may still be valid.
Result<std::size_t> revoke_tokens_of(const Options& options, std::shared_ptr<store::Store> store,
                                     std::string_view eauth, std::string_view username, const Clock& clock);

}  // namespace rest_fcgi::auth

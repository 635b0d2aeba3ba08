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

/// A valid token and its user.
struct TokenLogin {
  Secret token;
  Identity identity;
  WallTime start;
  WallTime expire;
};

/// Checks passwords and tokens, and makes the Identity of their user. Thread-safe.
///
/// Every refusal has the same Error, `Authorization error occurred.`; only the log has the cause. A refusal
/// for an unknown user or back end takes as long as one for a wrong password. `Logins` limits password
/// guesses and remembers correct passwords for `auth_cache_ttl`. Each call looks up the token again.
class Authenticator {
 public:
  /// Makes an authenticator. `clock` must outlive the authenticator. If `store` is null, tokens are kept in
  /// memory. If `limiter` is null, the authenticator makes its own limiter. Errors: configuration, for a back
  /// end that cannot work as it is configured.
  static Result<std::unique_ptr<Authenticator>> make(const Options& options, const Clock& clock,
                                                     std::shared_ptr<store::Store> store = nullptr,
                                                     std::shared_ptr<PasswordHashLimiter> limiter = nullptr);
  ~Authenticator();
  Authenticator(const Authenticator&) = delete;
  Authenticator& operator=(const Authenticator&) = delete;

  /// Returns the user of valid credentials. Calls with the same `deadline` count as parts of one request, see
  /// `Logins::login`. Errors: authentication, for wrong credentials; throttled, after too many failed logins;
  /// timeout, if the check could not start before `deadline`; internal or unavailable, if a back end failed,
  /// for example because of an unreadable password file.
  [[nodiscard]] Result<Identity> authenticate(const Credentials& credentials, SteadyTime deadline);

  /// Makes and stores a new token for a user. After return the token survives a power cut. The token is valid
  /// for `life` if `token_expire_user_override` lets this user choose, otherwise for `token_expire`. Errors:
  /// internal or unavailable, if the token cannot be stored.
  [[nodiscard]] Result<TokenLogin> make_token(const Identity& identity,
                                              std::optional<std::chrono::milliseconds> life = {});

  /// Returns the token with its user. Errors: authentication, if the token is unknown or expired;
  /// unavailable.
  [[nodiscard]] Result<TokenLogin> holder(SecretView token) const;

  /// Revokes a token. After return the revocation survives a power cut. Errors: those of `holder`; internal,
  /// and the token is still valid then.
  [[nodiscard]] Result<void> revoke_token(SecretView token);

  /// Returns the names of the enabled back ends.
  [[nodiscard]] std::vector<std::string> eauths() const;

 private:
  Authenticator();
  [[nodiscard]] Error refuse_unknown_eauth(const Login& login) const;

  // The members are constant after construction. Each member is thread-safe by itself.
  std::vector<Eauth> eauths_;
  TokenLifeRule token_life_rule_;
  std::unique_ptr<Tokens> tokens_;
  std::unique_ptr<Logins> logins_;
};

/// Revokes all tokens of a user in all processes. `eauth` limits this to the tokens of one back end; if
/// `eauth` is empty, the tokens of all back ends are revoked. Returns the number of tokens that were valid.
/// `store` may be null if tokens are in etcd. Errors: configuration; unavailable or internal, and some tokens
/// may still be valid then.
[[nodiscard]] Result<std::size_t> revoke_tokens_of(const Options& options,
                                                   std::shared_ptr<store::Store> store,
                                                   std::string_view eauth, std::string_view username,
                                                   const Clock& clock);

}  // namespace rest_fcgi::auth

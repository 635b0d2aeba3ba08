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

/// Turns credentials into an Identity: the one place where a password or token is checked. Thread-safe.
///
/// Every refusal is the same Error, `Authorization error occurred.`; the log has the stage and the cause. An
/// unknown user or back end takes as long as a wrong password. `Logins` limits guesses and remembers good
/// passwords for `auth_cache_ttl`. A token is looked up each time.
class Authenticator {
 public:
  /// `clock` must outlive the result. Without `store` tokens are in memory; without `limiter` the result has
  /// its own. Errors: configuration, for a back end that cannot work as it is configured.
  static Result<std::unique_ptr<Authenticator>> make(const Options& options, const Clock& clock,
                                                     std::shared_ptr<store::Store> store = nullptr,
                                                     std::shared_ptr<PasswordHashLimiter> limiter = nullptr);
  ~Authenticator();
  Authenticator(const Authenticator&) = delete;
  Authenticator& operator=(const Authenticator&) = delete;

  /// All calls with one `deadline` belong to one request, see `Logins::login`. Errors: authentication;
  /// throttled; timeout, after a wait for others until `deadline`; internal or unavailable, if a back end
  /// failed, as with an unreadable password file.
  [[nodiscard]] Result<Identity> authenticate(const Credentials& credentials, SteadyTime deadline);

  /// Stores a new token for a user, durably. Its life is `life` if `token_expire_user_override` lets this
  /// user choose, else `token_expire`. Errors: internal or unavailable, if it cannot be stored.
  [[nodiscard]] Result<TokenLogin> make_token(const Identity& identity,
                                              std::optional<std::chrono::milliseconds> life = {});

  /// Returns the user of a token. Errors: authentication; unavailable.
  [[nodiscard]] Result<TokenLogin> holder(SecretView token) const;

  /// Revokes a token, durably. Errors: those of `holder`; internal, and then the token is still valid.
  [[nodiscard]] Result<void> revoke_token(SecretView token);

  /// Returns the names of the enabled back ends.
  [[nodiscard]] std::vector<std::string> eauths() const;

 private:
  Authenticator();
  [[nodiscard]] Error refuse_unknown_eauth(const Login& login) const;

  // constant after construction; each synchronizes itself
  std::vector<Eauth> eauths_;
  TokenLifeRule token_life_rule_;
  std::unique_ptr<Tokens> tokens_;
  std::unique_ptr<Logins> logins_;
};

/// Revokes all tokens of a user in all processes: those of one back end, or of all if `eauth` is empty.
/// Returns how many were valid. `store` may be null if tokens are in etcd. Errors: configuration; unavailable
/// or internal, and then some tokens may still be valid.
[[nodiscard]] Result<std::size_t> revoke_tokens_of(const Options& options,
                                                   std::shared_ptr<store::Store> store,
                                                   std::string_view eauth, std::string_view username,
                                                   const Clock& clock);

}  // namespace rest_fcgi::auth

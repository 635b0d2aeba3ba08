// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rest_fcgi/auth/credentials.h"
#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

/// What somebody else, who checked the credentials, gave for them. Immutable once made; shared.
struct Grant {
  std::string name;   ///< the user
  std::string eauth;  ///< the back end that knows them
  std::vector<std::string> groups;
  Secret token;     ///< stands for the credentials in what follows
  WallTime expire;  ///< of the token, by the clock of who made it
};

/// Logins that somebody else checks, such as a real Salt master: guards against guessing just as
/// `Authenticator` does, asks once where many threads bring the same credentials, and remembers for a while
/// what good ones were given. Holds keyed digests of credentials, no passwords; successes only; bounded.
/// Thread-safe.
class RemoteLogins {
 public:
  /// Asks whoever decides. Errors: authentication, where the credentials are not good; all else is a failure
  /// that says nothing about them, though one of kind internal counts as a guess of a password, as with
  /// `Authenticator`.
  using Check = std::function<Result<Grant>(const Credentials&)>;

  /// `clock` has to outlive it. A `ttl` of 0: nothing is remembered beyond a request. Errors: configuration
  /// or internal, for a guard whose memory cannot be had.
  static Result<std::unique_ptr<RemoteLogins>> make(const LoginGuardOptions& guard, std::chrono::seconds ttl,
                                                    const Clock& clock);
  virtual ~RemoteLogins() = default;

  /// What stands for these credentials: remembered, or asked for now with `check`, which is called on this
  /// thread or on another one that brought the same credentials: then this one gets what that one gets, and
  /// counts for nothing with the guard. All logins with one `deadline` are taken for one request's: whatever
  /// `ttl` is, its credentials are asked about once, and those of requests that have to end earlier, which
  /// began no later, are not asked about again. Errors: authentication and throttled, as `Authenticator`
  /// gives them; those of `check`; timeout, where it waited for others until `deadline`.
  [[nodiscard]] virtual Result<std::shared_ptr<const Grant>> login(const Credentials& credentials,
                                                                   const Check& check,
                                                                   SteadyTime deadline) = 0;

  /// Lets credentials go along with a call of its own, under the same guard; nothing is remembered, and each
  /// try is one. `try_them` says whether they were taken. Errors: authentication where they were not;
  /// throttled; timeout, where it waited for others until `deadline`; those of `try_them`.
  using Try = std::function<Result<bool>()>;
  [[nodiscard]] virtual Result<void> guarded(const Credentials& credentials, const Try& try_them,
                                             SteadyTime deadline) = 0;

  /// Whoever gave it no longer takes it: the next `login` asks again. Forgets nothing newer.
  virtual void forget(const Credentials& credentials, const Grant& grant) = 0;
};

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/auth/credentials.h"
#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::auth {

class RevocationList;

/// The result of a successful check of credentials. Shared by all requests with these credentials; does not
/// change.
struct Grant {
  std::string name;   ///< the user
  std::string eauth;  ///< the back end that knows the user
  std::vector<std::string> groups{};
  /// A token of the Salt master that later calls use instead of the credentials; may be empty.
  Secret token{};
  WallTime expire = WallTime::max();  ///< end of the token, by the master's clock
  WallTime start{};                   ///< start of the token, by the master's clock
  /// The longest time for which `Logins` may remember this grant.
  std::chrono::seconds keep = std::chrono::seconds::max();
  /// The rights that the master stores in its token, in the form of `external_auth`. If the value is JSON
  /// `null`, the master found no rights, and the token allows nothing. If it is absent, the rules of the
  /// master's configuration file apply.
  std::optional<Json> auth_list{};
};

/// Checks credentials with a back end of this process or with a real Salt master. This class limits password
/// guesses and remembers correct credentials for a limited time. If many threads have the same credentials,
/// only one of them runs the check. Memory is bounded. It holds keyed digests of credentials instead of
/// passwords. Thread-safe.
class Logins {
 public:
  using Outcome = Result<std::shared_ptr<const Grant>>;

  /// Checks credentials. Errors: authentication, if the credentials are wrong, with the cause for the log.
  /// All other errors mean that the check itself failed. Errors of the kind internal and errors with
  /// `counts_as_guess` still count as a password guess, because they may depend on the password.
  using Check = std::function<Result<Grant>(const Credentials&)>;

  /// Makes an object whose grants are remembered for `ttl`. If `ttl` is 0, a grant is remembered only for its
  /// request. `clock` must outlive the object. `revocations` may be null.
  static std::unique_ptr<Logins> make(const LoginGuardOptions& guard, std::chrono::seconds ttl,
                                      const Clock& clock, std::shared_ptr<store::Store> store,
                                      std::shared_ptr<RevocationList> revocations = nullptr);
  virtual ~Logins() = default;

  /// Returns the grant of these credentials. It is a remembered grant, or the result of `check` on this
  /// thread or on another thread with the same credentials. Logins with the same `deadline` count as parts of
  /// one request, and equal credentials of one request are checked once. A grant that was remembered with one
  /// `stamp` is not used for a different `stamp`. Failures of tokens are not counted, because tokens cannot
  /// be guessed. Errors: authentication, always with the same text; throttled, after too many failed logins;
  /// unavailable, if logins occupy too many threads; timeout, if `deadline` passes while this login waits for
  /// other logins; those of `check`.
  [[nodiscard]] virtual Outcome login(const Credentials& credentials, const Check& check, SteadyTime deadline,
                                      std::string_view stamp = {}) = 0;

  /// Works as `login` for credentials with a password, but always calls `check`. So each login gets its own
  /// token.
  [[nodiscard]] virtual Outcome login_anew(const Credentials& credentials, const Check& check,
                                           SteadyTime deadline) = 0;

  /// Calls `attempt`, which sends the credentials to the master together with a call. The limit on password
  /// guesses applies. No grant is remembered. Only an error of the kind authentication from `attempt` counts
  /// as a guess. Errors: those of `login` and `attempt`. REQUIRES: the credentials are of the kind eauth.
  [[nodiscard]] virtual Result<void> guarded(const Credentials& credentials,
                                             const std::function<Result<void>()>& attempt,
                                             SteadyTime deadline) = 0;

  /// Revokes a token of a Salt master, see `RevocationList::add`. REQUIRES: the credentials are of the kind
  /// token, and `make` got a revocation list.
  [[nodiscard]] virtual Result<void> log_out(const Credentials& credentials, const Grant& grant) = 0;

  /// Forgets a grant whose token the master refuses. The next `login` calls `check` again.
  virtual void forget(const Credentials& credentials, const Grant& grant) = 0;
};

}  // namespace rest_fcgi::auth

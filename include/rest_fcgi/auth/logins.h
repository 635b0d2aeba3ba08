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

/// The result of a check of good credentials. Immutable once made; shared.
struct Grant {
  std::string name;   ///< the user
  std::string eauth;  ///< the back end that knows the user
  std::vector<std::string> groups{};
  Secret token{};  ///< a token of the Salt master that replaces the credentials; may be empty
  WallTime expire = WallTime::max();  ///< of the token, by the master's clock
  WallTime start{};                   ///< of the token, by the master's clock
  /// How long it may be remembered at most.
  std::chrono::seconds keep = std::chrono::seconds::max();
  /// The rights that the master keeps in its token, in the form of `external_auth`. JSON `null`: the master
  /// found none, and the token allows nothing. Absent: the rules of the master's file apply.
  std::optional<Json> auth_list{};
};

/// Checks credentials with a back end of this process or a real Salt master: limits password guesses, checks
/// once if many threads bring the same credentials, and remembers good ones for a while. Memory is bounded,
/// and has keyed digests of credentials, no passwords. Thread-safe.
class Logins {
 public:
  using Outcome = Result<std::shared_ptr<const Grant>>;

  /// Checks credentials. Errors: authentication, if they are not good, with the cause for the log. Other
  /// errors say nothing about the credentials. Those of kind internal and those with `counts_as_guess` count
  /// as a guess nevertheless: the check may fail for wrong passwords only.
  using Check = std::function<Result<Grant>(const Credentials&)>;

  /// `clock` must outlive the result. With a `ttl` of 0, a grant is remembered only for its request.
  /// `revocations` may be null.
  static std::unique_ptr<Logins> make(const LoginGuardOptions& guard, std::chrono::seconds ttl,
                                      const Clock& clock, std::shared_ptr<store::Store> store,
                                      std::shared_ptr<RevocationList> revocations = nullptr);
  virtual ~Logins() = default;

  /// Returns the grant of these credentials: a remembered one, or the result of `check` on this thread or on
  /// another thread with the same credentials. All logins with one `deadline` belong to one request, and its
  /// credentials are checked once. A grant that was remembered for one `stamp` is not used for another.
  /// Tokens cannot be guessed, so their failures are not counted.
  /// Errors: authentication, always with the same text; throttled; unavailable, if logins occupy too many
  /// threads; timeout, after a wait for others until `deadline`; those of `check`.
  [[nodiscard]] virtual Outcome login(const Credentials& credentials, const Check& check, SteadyTime deadline,
                                      std::string_view stamp = {}) = 0;

  /// Works as `login` for a user, but always checks, so that each login gets its own token.
  [[nodiscard]] virtual Outcome login_anew(const Credentials& credentials, const Check& check,
                                           SteadyTime deadline) = 0;

  /// Calls `attempt`, which sends the credentials along with a call, under the limit on guesses. Remembers
  /// nothing. Only its error authentication counts as a guess. Errors: those of `login` and `attempt`.
  /// REQUIRES: kind eauth.
  [[nodiscard]] virtual Result<void> guarded(const Credentials& credentials,
                                             const std::function<Result<void>()>& attempt,
                                             SteadyTime deadline) = 0;

  /// Revokes a token of a Salt master, see `RevocationList::add`. REQUIRES: kind token; there is a list.
  [[nodiscard]] virtual Result<void> log_out(const Credentials& credentials, const Grant& grant) = 0;

  /// Forgets this grant, because the master refuses its token. The next `login` checks again.
  virtual void forget(const Credentials& credentials, const Grant& grant) = 0;
};

}  // namespace rest_fcgi::auth

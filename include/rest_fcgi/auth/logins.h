// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
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

/// The result of a successful check of credentials. All requests with the same credentials share one Grant.
struct Grant {
  std::string name;
  std::string eauth;
  std::vector<std::string> groups{};
  /// A token of the Salt master, or empty. Later calls use this token instead of the credentials.
  Secret token{};
  WallTime expire = WallTime::max();  ///< `expire` is when the token expires, by the master's clock.
  WallTime start{};                   ///< `start` is when the token was made, by the master's clock.
  std::chrono::seconds keep = std::chrono::seconds::max();
  /// The rights that the master's token contains, in the form of `external_auth`. JSON `null` allows nothing.
  /// If the token contains no rights, this member is absent and the rules of the configuration file apply.
  std::optional<Json> auth_list{};
};

/// Counts the logins with a password by their result, for the metrics. Thread-safe.
class LoginCounts {
 public:
  enum class What : std::size_t {
    accepted,
    refused,    ///< `refused` counts logins with wrong credentials.
    throttled,  ///< `throttled` counts logins that the login guard refused.
    failed,     ///< `failed` counts logins whose credentials could not be checked.
  };

  void note(What what) noexcept { counts_[index(what)].fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t count(What what) const noexcept { return counts_[index(what)]; }

 private:
  static std::size_t index(What what) noexcept { return static_cast<std::size_t>(what); }
  std::array<std::atomic<std::uint64_t>, 4> counts_{};
};

/// Checks credentials with a back end or with a Salt master, limits password guesses, and remembers correct
/// credentials. If several threads have the same credentials, one thread checks them for all threads. Logins
/// keeps keyed digests instead of passwords, and its memory is bounded. Logins is thread-safe.
class Logins {
 public:
  using Outcome = Result<std::shared_ptr<const Grant>>;

  /// A function that checks credentials. Errors: authentication, if the credentials are wrong, with the cause
  /// for the log; other errors, if the check could not be made. Three errors count as a password guess:
  /// authentication, internal, and any error whose `counts_as_guess` is true.
  using Check = std::function<Result<Grant>(const Credentials&)>;

  /// Makes an object that remembers a Grant for the time `ttl`. If `ttl` is 0, a Grant is only for the
  /// requests that began before its check ended. `clock` must outlive the object. `revocations` and
  /// `counts` may be null.
  Logins(const LoginGuardOptions& guard, std::chrono::seconds ttl, const Clock& clock,
         std::shared_ptr<store::Store> store, std::shared_ptr<RevocationList> revocations = nullptr,
         std::shared_ptr<LoginCounts> counts = nullptr);
  ~Logins();

  /// Returns a remembered Grant of these credentials, or the result of `check`. If another thread is checking
  /// these credentials, waits for the result of that thread. A request whose credentials have its
  /// `request_start` checks equal credentials only once. `stamp` is the version of the back end's data. A
  /// Grant that was remembered with another `stamp` is not used. Wrong tokens do not count as password
  /// guesses.
  ///
  /// Errors: authentication, always with the same text; throttled, after too many failed logins; unavailable,
  /// if logins occupy too many threads; timeout, at `deadline`; those of `check`.
  Outcome login(const Credentials& credentials, const Check& check, SteadyTime deadline,
                std::string_view stamp = {});

  /// Checks a password without a remembered Grant, so that each login gets its own token.
  Outcome login_anew(const Credentials& credentials, const Check& check, SteadyTime deadline);

  /// Calls the function `attempt`, which sends a user name and a password to the master. The limit on
  /// password guesses applies. An authentication error of `attempt` counts as a guess. Errors: those of
  /// `login` and `attempt`. REQUIRES: the credentials are of the kind eauth.
  Result<void> guarded(const Credentials& credentials, const std::function<Result<void>()>& attempt,
                       SteadyTime deadline);

  /// Revokes a token of a Salt master. REQUIRES: the credentials are of the kind token, and the argument
  /// `revocations` of the constructor was not null.
  Result<void> log_out(const Credentials& credentials, const Grant& grant);

  /// Forgets a remembered Grant. The caller does this after the master has refused the Grant's token.
  void forget(const Credentials& credentials, const Grant& grant);

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace rest_fcgi::auth

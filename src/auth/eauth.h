// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

class PasswordHashLimiter;

/// A user's attempt to log in. Borrows its texts.
struct Login {
  std::string_view username;
  SecretView password;
  std::string_view remote;                  ///< the client's address; empty if unknown
  SteadyTime deadline = SteadyTime::max();  ///< when the time for the request ends
};

/// A back end's answer to a login.
struct Verdict {
  bool good = false;
  /// the user's groups; entries with `group%` in `external_auth` apply to them
  std::vector<std::string> groups{};
  /// The longest time that callers may remember this verdict. A longer `auth_cache_ttl` does not extend it.
  std::chrono::seconds keep = std::chrono::seconds::max();
};

/// One of Salt's external authentication back ends. Value type; thread-safe.
struct Eauth {
  std::string name;  ///< the back end's name in `external_auth`
  /// Checks a login. An unknown user takes as long as a wrong password. Errors: internal or unavailable, if
  /// the back end failed; it has then logged the cause. If the password may be the cause, the error has
  /// `counts_as_guess`.
  std::function<Result<Verdict>(const Login&)> verify;
  /// Returns the version of the back end's data. A remembered verdict is valid only for one version. Callers
  /// call this function for each login, before `verify`. Without a function the version never changes.
  std::function<std::string()> stamp{};
};

/// Chooses when a back end answers a refused login. A check takes different times for an unknown user, a
/// locked user and a wrong password. To hide the difference, each refusal takes a multiple of `step`, and at
/// least as long as the longest refusal so far. A refusal of more than 16 steps takes a multiple of 16 steps
/// and does not count as the longest. Thread-safe.
class RefusalTime {
 public:
  explicit RefusalTime(std::chrono::milliseconds step) : step_(step) {}

  /// Returns how long the refusal has to take in all if its check took `passed`.
  [[nodiscard]] SteadyTime::duration of(SteadyTime::duration passed);

  /// Sleeps until the caller may answer a refusal. `begun` is when the check began.
  void wait(SteadyTime begun);

 private:
  const std::chrono::milliseconds step_;
  std::atomic<std::int64_t> longest_{1};  // unit: steps
};

/// Makes Salt's back end `file`: users in a text, htpasswd or htdigest file. Each login checks whether the
/// file has changed, so that a change counts at once. `limiter` bounds the concurrent hashes. Errors:
/// configuration, with the name of the setting; also if other users may change the file.
Result<Eauth> make_file_eauth(const EauthOptions& options, std::shared_ptr<PasswordHashLimiter> limiter);

/// Makes Salt's back end `sharedsecret`: one password for all users. A front end that authenticates its users
/// itself logs in with it. Errors: configuration, without a secret.
Result<Eauth> make_sharedsecret_eauth(const Secret& sharedsecret);

/// Makes Salt's back end `pam`: users of the system. A helper process talks to PAM, because PAM's modules are
/// not thread-safe and need root. If no user can log in, logs why. Errors: configuration, for a malformed
/// service.
Result<Eauth> make_pam_eauth(const PamOptions& options);

/// Makes Salt's back end `auto`, which accepts any password. For tests.
Eauth make_auto_eauth();

/// Returns the enabled back ends of `external_auth`, and logs the names of the others. Errors: configuration,
/// for a back end that cannot work with its settings.
Result<std::vector<Eauth>> make_eauths(const Options& options,
                                       const std::shared_ptr<PasswordHashLimiter>& limiter);

}  // namespace rest_fcgi::auth

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

/// A login of a user. Borrows.
struct Login {
  std::string_view username;
  SecretView password;
  std::string_view remote;                  ///< the client's address; empty if unknown
  SteadyTime deadline = SteadyTime::max();  ///< of the request
};

/// A back end's answer to a login.
struct Verdict {
  bool good = false;
  std::vector<std::string> groups{};  ///< for `group%` in `external_auth`
  /// How long it may be remembered at most, whatever `auth_cache_ttl` is.
  std::chrono::seconds keep = std::chrono::seconds::max();
};

/// One of Salt's external authentication back ends. Value type; thread-safe.
struct Eauth {
  std::string name;  ///< in `external_auth`
  /// Checks a login. Takes as long for an unknown user as for a wrong password. Errors: internal or
  /// unavailable, if the back end failed and has logged the cause. They have `counts_as_guess` if the
  /// password may be the cause.
  std::function<Result<Verdict>(const Login&)> verify;
  /// Returns the version of the back end's data. A remembered verdict is valid for one version. Called for
  /// each login, before `verify`. May be empty.
  std::function<std::string()> stamp{};
};

/// The time that refusals of a back end take. A check takes different times for an unknown user, a locked
/// user and a wrong password. To hide this, a refusal takes a multiple of `step`, and not less than the
/// longest one before. A refusal of more than 16 steps takes a multiple of 16 steps, and is not remembered.
/// Thread-safe.
class RefusalTime {
 public:
  explicit RefusalTime(std::chrono::milliseconds step) : step_(step) {}

  /// Returns the time of a refusal whose check took `passed`.
  [[nodiscard]] SteadyTime::duration of(SteadyTime::duration passed);

  /// Sleeps until a refusal may be answered whose check began at `begun`.
  void wait(SteadyTime begun);

 private:
  const std::chrono::milliseconds step_;
  std::atomic<std::int64_t> longest_{1};  // steps
};

/// Salt's `file`: users in a file of text, htpasswd or htdigest. Each login looks at the file, so that a
/// change counts at once. `limiter` bounds the hashes. Errors: configuration, with the setting; also if other
/// users may change the file.
Result<Eauth> make_file_eauth(const EauthOptions& options, std::shared_ptr<PasswordHashLimiter> limiter);

/// Salt's `sharedsecret`, one password for all users: for a front end that authenticates its users itself.
/// Errors: configuration, without a secret.
Result<Eauth> make_sharedsecret_eauth(const Secret& sharedsecret);

/// Salt's `pam`: users of the system. A helper talks to PAM, because PAM's modules are not thread-safe and
/// need root. Logs why no user can log in, if that is so. Errors: configuration, for a malformed service.
Result<Eauth> make_pam_eauth(const PamOptions& options);

/// Salt's `auto`: accepts any password. For tests.
Eauth make_auto_eauth();

/// Returns the back ends of `external_auth` that are enabled, and logs those that are not.
/// Errors: configuration, for a back end that cannot work as it is configured.
Result<std::vector<Eauth>> make_eauths(const Options& options,
                                       const std::shared_ptr<PasswordHashLimiter>& limiter);

}  // namespace rest_fcgi::auth

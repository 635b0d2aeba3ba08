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

struct Login {
  std::string_view username;
  SecretView password;
  std::string_view remote;  ///< `remote` is the client's address. Empty if the address is unknown.
  SteadyTime deadline = SteadyTime::max();  ///< `deadline` is the time at which the login must end.
};

struct Verdict {
  bool good = false;
  /// The user's groups. An entry `group%` of `external_auth` applies to the members of the group.
  std::vector<std::string> groups{};
  std::chrono::seconds keep = std::chrono::seconds::max();
};

/// A back end of Salt's external authentication. An Eauth is thread-safe.
struct Eauth {
  std::string name;
  /// Checks a login. The check of an unknown user takes as long as the check of a wrong password. Errors:
  /// internal; unavailable. The back end has already logged the cause of an error. If the password may be the
  /// cause, `counts_as_guess` of the error is true.
  std::function<Result<Verdict>(const Login&)> verify;
  /// Returns the version of the back end's data. If the version changes, a Verdict that was remembered before
  /// is not used. If this function is empty, the version never changes.
  std::function<std::string()> stamp{};
};

/// Delays the answers to refused logins, so that the duration does not show the cause. Rounds each duration
/// up to a multiple of `step`. A duration of up to 16 steps is then raised to the longest such duration so
/// far. A longer duration is rounded up to a multiple of 16 steps. RefusalTime is thread-safe.
class RefusalTime {
 public:
  explicit RefusalTime(std::chrono::milliseconds step) : step_(step) {}

  [[nodiscard]] SteadyTime::duration of(SteadyTime::duration passed);

  /// Sleeps until the caller may reply that the login is refused. `begun` is the time when the check began.
  void wait(SteadyTime begun);

 private:
  const std::chrono::milliseconds step_;
  std::atomic<std::int64_t> longest_{1};  // The longest duration of at most 16 steps, in steps of `step_`.
};

/// Makes Salt's back end `file`: users in a text, htpasswd or htdigest file. If the file changes, the next
/// login uses the new content. Errors: configuration, if a setting is wrong or if other users may change the
/// file.
Result<Eauth> make_file_eauth(const EauthOptions& options, std::shared_ptr<PasswordHashLimiter> limiter);

/// Makes Salt's back end `sharedsecret`: one password for all users. Errors: configuration, without a secret.
Result<Eauth> make_sharedsecret_eauth(const Secret& sharedsecret);

/// Makes Salt's back end `pam`: users of the system. A helper process talks to PAM, because PAM's modules are
/// not thread-safe and need root. Errors: configuration, for a malformed service.
Result<Eauth> make_pam_eauth(const PamOptions& options);

/// Makes the back ends that `external_auth` enables. Logs unknown ones, and `auto` without
/// `allow_auto_eauth`. Errors: configuration, for a back end that cannot work with its settings.
Result<std::vector<Eauth>> make_eauths(const Options& options,
                                       const std::shared_ptr<PasswordHashLimiter>& limiter);

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
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

/// What somebody says to prove who they are. Borrows.
struct Login {
  std::string_view username;
  SecretView password;
  std::string_view remote;                  ///< the address that they come from; empty where it is not known
  SteadyTime deadline = SteadyTime::max();  ///< of the request that they came with
};

/// What a back end says about a login.
struct Verdict {
  bool good = false;
  std::vector<std::string> groups{};  ///< for `group%` in `external_auth`
  /// How long it may be remembered at most, whatever `auth_cache_ttl` is.
  std::chrono::seconds keep = std::chrono::seconds::max();
};

/// One of Salt's external authentication back ends. Value type; thread-safe.
struct Eauth {
  std::string name;  ///< as it stands in `external_auth`
  /// Are they good? Takes as long for a user that does not exist as for a wrong password.
  /// Errors: internal or unavailable, where the back end itself failed; it has then logged the cause. Says
  /// `counts_as_guess` where it may have failed because of the password.
  std::function<Result<Verdict>(const Login&)> verify;
  /// What its verdicts rest on: what is remembered counts only as long as this says the same. Called for each
  /// login, before `verify`. Empty: nothing tells, only time ends what is remembered.
  std::function<std::string()> stamp{};
};

/// Salt's `file`: users in a file of their own, text, htpasswd or htdigest. It is looked at in each check, so
/// that a change counts at once. Passwords are hashed behind `limiter`. Errors: configuration, naming the
/// setting, also for a file that others may change.
Result<Eauth> make_file_eauth(const EauthOptions& options, std::shared_ptr<PasswordHashLimiter> limiter);

/// Salt's `sharedsecret`, one secret for all users: for a front end that has checked the user by its own
/// means and shows that it is itself. Errors: configuration, where the secret is not set.
Result<Eauth> make_sharedsecret_eauth(const Secret& sharedsecret);

/// Salt's `pam`, users of the system, by way of a helper, since PAM's modules are not thread-safe and want
/// root; the log says where that cannot work, and why. Errors: configuration, for a service that is no name
/// of one.
Result<Eauth> make_pam_eauth(const PamOptions& options);

/// Salt's `auto`: whoever says a name has it. For tests.
Eauth make_auto_eauth();

/// Those of `external_auth` that can be on; the log says which ones are left off, and why.
/// Errors: configuration, for a back end that cannot work as it is configured.
Result<std::vector<Eauth>> make_eauths(const Options& options,
                                       const std::shared_ptr<PasswordHashLimiter>& limiter);

}  // namespace rest_fcgi::auth

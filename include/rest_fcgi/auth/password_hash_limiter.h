// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string_view>

#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/core/limiter.h"

namespace rest_fcgi::auth {

/// Limits how many threads check passwords at the same time. Client networks take turns. Thread-safe.
class PasswordHashLimiter {
 public:
  using Limits = Limiter::Class;

  explicit PasswordHashLimiter(const Limits& limits) : limiter_({.what = "logins", .classes = {limits}}) {}

  /// Waits until this thread may run a check for the client at `remote`. The errors are those of
  /// `Limiter::enter`.
  Result<Limiter::Pass> enter(std::string_view remote, SteadyTime deadline);

 private:
  Limiter limiter_;
};

/// Makes the limiter for the back end `file`. It allows as many checks at a time as the host has cores, up to
/// 8.
[[nodiscard]] std::shared_ptr<PasswordHashLimiter> make_hash_limiter(const LoginGuardOptions& options);

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/password_hash_limiter.h"

#include <algorithm>
#include <thread>

#include "rest_fcgi/http/addresses.h"

namespace rest_fcgi::auth {

Result<Limiter::Pass> PasswordHashLimiter::enter(std::string_view remote, SteadyTime deadline) {
  return limiter_.enter(0, http::network_of(remote), deadline);
}

std::shared_ptr<PasswordHashLimiter> make_hash_limiter(const LoginGuardOptions& options) {
  constexpr unsigned kMostHashes = 8;  // Limits the memory, because one hash may need 16 MiB.
  return std::make_shared<PasswordHashLimiter>(
      PasswordHashLimiter::Limits{.at_once = std::clamp(std::thread::hardware_concurrency(), 1U, kMostHashes),
                                  .waiting = options.max_queued});
}

}  // namespace rest_fcgi::auth

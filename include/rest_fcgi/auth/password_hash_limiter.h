// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::auth {

/// Limits how many threads check credentials at the same time. The threads of each client network wait in a
/// queue, and the limiter admits one thread of each queue in turn. If too many threads wait, the last thread
/// of the longest queue is refused. A PasswordHashLimiter is thread-safe.
class PasswordHashLimiter {
 public:
  struct Limits {
    std::size_t at_once;
    /// The largest number of concurrent checks for one client network.
    std::size_t of_one = std::numeric_limits<std::size_t>::max();
    std::size_t waiting = 512;
  };
  struct Leave {
    std::string network;
    void operator()(PasswordHashLimiter* limiter) const noexcept { limiter->leave(network); }
  };
  /// The permission to run a check. The thread keeps the Pass until its check has ended. The limiter must
  /// outlive the Pass.
  using Pass = std::unique_ptr<PasswordHashLimiter, Leave>;

  explicit PasswordHashLimiter(const Limits& limits) : limits_(limits) {}
  PasswordHashLimiter(const PasswordHashLimiter&) = delete;
  PasswordHashLimiter& operator=(const PasswordHashLimiter&) = delete;

  /// Waits until this thread may run a check for the client at `remote`. Errors: timeout, at `deadline`;
  /// unavailable, if too many threads wait.
  Result<Pass> enter(std::string_view remote, SteadyTime deadline);

  [[nodiscard]] std::size_t waiting() const;

 private:
  struct Waiter {
    const std::string& network;
    // Threads with a lower round go first. In each round, at most one thread of a network waits, so the
    // networks take turns.
    std::uint64_t round;
    enum class State { waits, has_turn, is_refused } state = State::waits;
    std::condition_variable woken{};
  };
  using Waiters = std::list<Waiter*>;

  // The caller of each function from `may_enter` to `admit` has to hold `mutex_`.
  [[nodiscard]] bool may_enter(const std::string& network) const;
  [[nodiscard]] Waiters::iterator next();
  [[nodiscard]] std::uint64_t round_of(std::string_view network) const;
  [[nodiscard]] bool make_room(std::uint64_t round);
  void take(const std::string& network);
  void admit();

  void leave(const std::string& network) noexcept;

  const Limits limits_;
  mutable std::mutex mutex_;
  std::size_t inside_ = 0;  // The number of running checks. `mutex_` guards `inside_` and all members below.
  std::unordered_map<std::string, std::size_t> of_network_;
  // The highest round of the admitted threads. If a network has no waiting thread, its next thread gets this
  // round.
  std::uint64_t round_ = 0;
  Waiters waiters_;
};

/// Makes the limiter for the back end `file`. It allows as many checks at a time as the host has cores, up to
/// 8.
[[nodiscard]] std::shared_ptr<PasswordHashLimiter> make_hash_limiter(const LoginGuardOptions& options);

}  // namespace rest_fcgi::auth

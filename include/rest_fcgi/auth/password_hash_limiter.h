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

/// Bounds how many credentials are checked at a time, by hashes, by PAM or by a Salt master. A password hash
/// keeps a core busy, and yescrypt with Debian's cost takes 16 MiB. Each address has a queue, and the queues
/// take turns, so an address that sends many passwords delays only itself. If too many threads wait, the last
/// one of the longest queue is refused. Thread-safe.
class PasswordHashLimiter {
 public:
  struct Limits {
    std::size_t at_once;
    std::size_t of_one = std::numeric_limits<std::size_t>::max();  ///< at once, of one address
    std::size_t waiting = 512;                                     ///< threads
  };
  struct Leave {
    std::string network;
    void operator()(PasswordHashLimiter* limiter) const noexcept { limiter->leave(network); }
  };
  /// Permission for one check, until it is destroyed. Must not outlive the limiter.
  using Pass = std::unique_ptr<PasswordHashLimiter, Leave>;

  explicit PasswordHashLimiter(const Limits& limits) : limits_(limits) {}
  PasswordHashLimiter(const PasswordHashLimiter&) = delete;
  PasswordHashLimiter& operator=(const PasswordHashLimiter&) = delete;

  /// Waits for a turn. Errors: timeout, at `deadline`; unavailable, if too many threads wait.
  [[nodiscard]] Result<Pass> enter(std::string_view remote, SteadyTime deadline);

  /// Returns how many threads wait.
  [[nodiscard]] std::size_t waiting() const;

 private:
  struct Waiter {
    const std::string& network;
    std::uint64_t round;  // in each round, an address has one turn
    enum class State { waits, has_turn, is_refused } state = State::waits;
    std::condition_variable woken{};
  };
  using Waiters = std::list<Waiter*>;

  // REQUIRES: mutex_ is held
  [[nodiscard]] bool may_enter(const std::string& network) const;
  [[nodiscard]] Waiters::iterator next();
  [[nodiscard]] std::uint64_t round_of(std::string_view network) const;
  [[nodiscard]] bool make_room(std::uint64_t round);
  void take(const std::string& network);
  void admit();

  void leave(const std::string& network) noexcept;

  const Limits limits_;
  mutable std::mutex mutex_;
  std::size_t inside_ = 0;  // running checks; guarded by mutex_, as all below
  std::unordered_map<std::string, std::size_t> of_network_;  // number of running checks by network
  std::uint64_t round_ = 0;                                  // highest round of an admitted waiter
  Waiters waiters_;                                          // sorted by round
};

/// Returns the limiter of the file back end, one for a process. As many hashes as the host has cores are
/// computed at once, but at most 8.
[[nodiscard]] std::shared_ptr<PasswordHashLimiter> make_hash_limiter(const LoginGuardOptions& options);

}  // namespace rest_fcgi::auth

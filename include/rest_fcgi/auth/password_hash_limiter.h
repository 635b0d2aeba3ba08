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

/// Bounds how many credentials are checked at a time, by hashes, by PAM or by a Salt master. A hash keeps a
/// core busy, and a yescrypt of usual cost takes 16 MiB. Waiting checks stand in lines, one an address, of
/// IPv6 one a network of 48 bits. The lines take turns, so that an address which sends many passwords delays
/// its own only. Where too many wait, the longest line gives way; where none is longer than the newcomer's
/// would be, the newcomer is refused. Thread-safe.
class PasswordHashLimiter {
 public:
  struct Limits {
    std::size_t at_once = cores();
    std::size_t of_one = std::numeric_limits<std::size_t>::max();  ///< at once, of one line
    std::size_t memory = std::size_t{128} << 20;                   ///< bytes that they may take together
    std::size_t waiting = 512;                                     ///< threads
  };
  struct Leave {
    std::string line;
    std::size_t memory = 0;
    void operator()(PasswordHashLimiter* limiter) const noexcept { limiter->leave(*this); }
  };
  /// Permission for one check, until it goes. Must not outlive the limiter.
  using Pass = std::unique_ptr<PasswordHashLimiter, Leave>;

  explicit PasswordHashLimiter(const Limits& limits) : limits_(limits) {}
  PasswordHashLimiter(const PasswordHashLimiter&) = delete;
  PasswordHashLimiter& operator=(const PasswordHashLimiter&) = delete;

  /// Waits for a turn. `memory` is in bytes; a check that takes more than there is goes alone. Errors:
  /// timeout, where the turn did not come until `deadline`; unavailable, where too many wait.
  [[nodiscard]] Result<Pass> enter(std::string_view remote, std::size_t memory, SteadyTime deadline);

  /// Returns how many threads wait.
  [[nodiscard]] std::size_t waiting() const;

  /// Returns how many cores this process has.
  [[nodiscard]] static std::size_t cores() noexcept;

 private:
  struct Waiter {
    const std::string& line;
    std::uint64_t round;  // in each, a line has one turn
    std::size_t memory;
    enum class State { waits, has_turn, gives_way } state = State::waits;
    std::condition_variable woken{};
  };
  using Waiters = std::list<Waiter*>;

  // with mutex_ held
  [[nodiscard]] bool has_room(std::size_t memory) const;
  [[nodiscard]] bool may_enter(const std::string& line) const;
  [[nodiscard]] Waiters::iterator next();
  [[nodiscard]] std::uint64_t round_of(std::string_view line) const;
  [[nodiscard]] bool make_room(std::uint64_t round);
  void take(const std::string& line, std::size_t memory);
  void admit();

  void leave(const Leave& pass) noexcept;

  const Limits limits_;
  mutable std::mutex mutex_;
  std::size_t inside_ = 0;                                // guarded by mutex_, as all below
  std::size_t used_ = 0;                                  // bytes
  std::unordered_map<std::string, std::size_t> of_line_;  // how many are inside
  std::uint64_t round_ = 0;                               // of the latest turn
  Waiters waiters_;                                       // by round
};

/// Returns the limiter of the file back end, one for a process.
[[nodiscard]] std::shared_ptr<PasswordHashLimiter> make_hash_limiter(const LoginGuardOptions& options);

}  // namespace rest_fcgi::auth

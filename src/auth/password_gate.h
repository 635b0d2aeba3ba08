// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <limits>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::auth {

/// Bounds how many passwords are checked at a time: a hash keeps a core busy, and a yescrypt of usual cost
/// takes 16 MiB; PAM keeps a process busy. Who has to wait stands in a line of their address's; the lines are
/// served in turn, so that an address which brings many passwords keeps its own waiting and no others. All
/// of an IPv6 site, 48 bits, stand in one line. Where too many wait, the longest line gives way; where none
/// is longer than the newcomer's would be, the newcomer is refused. Thread-safe.
class PasswordGate {
 public:
  struct Limits {
    std::size_t at_once = cores();
    std::size_t of_one = std::numeric_limits<std::size_t>::max();  ///< at once, of one line
    std::size_t memory = std::size_t{128} << 20;                   ///< bytes that they may take together
    std::size_t waiting = 512;                                     ///< threads
  };

  class Pass;

  explicit PasswordGate(const Limits& limits) : limits_(limits) {}
  PasswordGate(const PasswordGate&) = delete;
  PasswordGate& operator=(const PasswordGate&) = delete;

  /// Waits for a turn. A check that takes more than all memory there is goes alone. `remote`: the
  /// address it comes from; `memory`: bytes. Errors: timeout, where the turn did not come until `deadline`;
  /// unavailable, where too many wait.
  [[nodiscard]] Result<Pass> enter(std::string_view remote, std::size_t memory, SteadyTime deadline);

  /// Threads that wait now.
  [[nodiscard]] std::size_t waiting() const;

  /// As many hashes go on at the same time as this process has cores.
  [[nodiscard]] static std::size_t cores() noexcept;

 private:
  enum class State { waits, goes_in, gives_way };
  struct Waiter {
    std::size_t memory;
    State state = State::waits;
    std::condition_variable told{};
  };
  struct Line {
    std::string whose;
    std::deque<Waiter*> waiters{};
    std::size_t inside = 0;  // who came out of it; with no waiters either, it goes
  };
  using Lines = std::list<Line>;

  // all with mutex_ held
  [[nodiscard]] bool has_room(std::size_t memory) const;
  [[nodiscard]] Lines::iterator next();
  [[nodiscard]] Lines::iterator find_or_add_line(std::string_view remote);
  void take(Lines::iterator line, std::size_t memory);
  void admit();
  [[nodiscard]] bool make_room(const Line& own);
  void remove(Lines::iterator line, const Waiter& waiter);
  void drop_if_empty(Lines::iterator line);

  void leave(Lines::iterator line, std::size_t memory) noexcept;

  const Limits limits_;
  mutable std::mutex mutex_;
  std::size_t inside_ = 0;   // guarded by mutex_, as all below
  std::size_t used_ = 0;     // bytes
  std::size_t waiting_ = 0;  // threads, in all lines
  Lines lines_;              // the next turn is that of the first one which waits and may have more
};

/// Permission for one check, until it goes. Moves; must not outlive the gate.
class PasswordGate::Pass {
 public:
  Pass(Pass&& other) noexcept
      : gate_(std::exchange(other.gate_, nullptr)), line_(other.line_), memory_(other.memory_) {}
  Pass& operator=(Pass&&) = delete;
  ~Pass() {
    if (gate_ != nullptr) gate_->leave(line_, memory_);
  }

 private:
  friend class PasswordGate;
  Pass(PasswordGate* gate, Lines::iterator line, std::size_t memory)
      : gate_(gate), line_(line), memory_(memory) {}
  PasswordGate* gate_;
  Lines::iterator line_;
  std::size_t memory_;
};

}  // namespace rest_fcgi::auth

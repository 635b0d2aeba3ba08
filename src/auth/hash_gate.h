// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <list>
#include <mutex>
#include <string>
#include <utility>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::auth {

/// Bounds how many passwords are hashed at a time: a hash keeps a core busy, and a yescrypt of usual cost
/// takes 16 MiB. Who has to wait stands in a line of their address's; the lines are served in turn, so that
/// an address which brings many passwords keeps its own waiting and no others. Where too many wait, the
/// longest line gives way. One for a process; thread-safe.
class HashGate {
 public:
  struct Limits {
    std::size_t at_once = cores();
    std::size_t memory = std::size_t{128} << 20;  ///< bytes that hashes may take together
    std::size_t waiting = 512;                    ///< threads
  };

  /// Permission for one hash, until it goes. Moves; must not outlive the gate.
  class Pass {
   public:
    Pass(Pass&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)), memory_(other.memory_) {}
    Pass& operator=(Pass&&) = delete;
    ~Pass() {
      if (gate_ != nullptr) gate_->leave(memory_);
    }

   private:
    friend class HashGate;
    Pass(HashGate* gate, std::size_t memory) : gate_(gate), memory_(memory) {}
    HashGate* gate_;
    std::size_t memory_;
  };

  explicit HashGate(const Limits& limits) : limits_(limits) {}
  HashGate(const HashGate&) = delete;
  HashGate& operator=(const HashGate&) = delete;

  /// Waits for a turn. A hash that takes more than all memory there is goes alone. `network`: whose line, see
  /// `network_of`; `memory`: bytes. Errors: timeout, where the turn did not come until `deadline`;
  /// unavailable, where too many wait.
  [[nodiscard]] Result<Pass> enter(const std::string& network, std::size_t memory, SteadyTime deadline);

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
    std::string network;
    std::deque<Waiter*> waiters;  // never empty
  };

  // all with mutex_ held
  [[nodiscard]] bool has_room(std::size_t memory) const;
  void take(std::size_t memory);
  void admit();
  [[nodiscard]] std::list<Line>::iterator find(const std::string& network);
  void stand_in_line(const std::string& network, Waiter& waiter);
  [[nodiscard]] bool make_room(const std::string& network);
  void remove(const std::string& network, const Waiter& waiter);

  void leave(std::size_t memory) noexcept;

  const Limits limits_;
  mutable std::mutex mutex_;
  std::size_t inside_ = 0;   // guarded by mutex_, as all below
  std::size_t used_ = 0;     // bytes
  std::size_t waiting_ = 0;  // threads, in all lines
  std::list<Line> lines_;    // the next turn is the first one's
};

}  // namespace rest_fcgi::auth

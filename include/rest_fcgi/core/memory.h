// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>

#include "rest_fcgi/core/clock.h"

/// What malloc(3) keeps free, and when it goes back to the system.
namespace rest_fcgi {

/// How long nothing is to be done before memory is given back.
inline constexpr std::chrono::seconds kQuiet{1};

/// Has malloc(3) keep a part of what large requests took for the next ones: fresh pages cost many times what
/// is done with them. To be called before there are threads.
void keep_memory() noexcept;

/// Gives back to the system what malloc(3) keeps free: whole pages inside all arenas, and the end of the
/// calling thread's. For a thread that had work and has none now.
void trim_memory() noexcept;

/// Gives memory back once there was work and then none for `kQuiet`. `note_work` may be called by any thread,
/// `look` by one.
class TrimWhenQuiet {
 public:
  void note_work() noexcept { worked_.store(true, std::memory_order_relaxed); }

  /// To be called now and then.
  void look(SteadyTime now) noexcept {
    if (worked_.exchange(false, std::memory_order_relaxed)) {
      worked_at_ = now;
      is_due_ = true;
    } else if (is_due_ && now - worked_at_ >= kQuiet) {
      is_due_ = false;
      trim_memory();
    }
  }

 private:
  std::atomic<bool> worked_ = false;
  bool is_due_ = false;
  SteadyTime worked_at_{};
};

}  // namespace rest_fcgi

// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>

#include "rest_fcgi/core/clock.h"

namespace rest_fcgi {

/// After this time without work, the process gives free memory back to the kernel.
inline constexpr std::chrono::seconds kQuiet{1};

/// Makes malloc(3) keep some free memory for the next large request. REQUIRES: no other thread runs yet.
void keep_memory() noexcept;

/// Gives free memory of malloc(3) back to the kernel.
void trim_memory() noexcept;

/// Gives free memory back to the kernel once after each period of work. Only one thread may call `look`.
/// `note_work` is thread-safe.
class TrimWhenQuiet {
 public:
  void note_work() noexcept { worked_.store(true, std::memory_order_relaxed); }

  /// Calls `trim_memory` if `kQuiet` has passed without work. One thread calls `look` periodically.
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

// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>

#include "rest_fcgi/core/clock.h"

/// When malloc(3) returns free memory to the system.
namespace rest_fcgi {

/// Time without work after which memory is returned.
inline constexpr std::chrono::seconds kQuiet{1};

/// Makes malloc(3) keep some free memory for the next large request, since new pages are expensive. REQUIRES:
/// no other thread runs yet.
void keep_memory() noexcept;

/// Returns free memory of malloc(3) to the system. Called by a thread that has become idle.
void trim_memory() noexcept;

/// Returns memory to the system after work and then `kQuiet` without work. Any thread may call
/// `note_work`, one thread `look`.
class TrimWhenQuiet {
 public:
  void note_work() noexcept { worked_.store(true, std::memory_order_relaxed); }

  /// Called periodically.
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

// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::auth {

/// A clock whose calendar does not go back, for what ends at a time of day: what was over stays over when the
/// system's clock is set back, whether anybody looked meanwhile or not. `latest` is the latest microsecond of
/// Unix time that anybody saw, shared by all who share the word. Where the clock was ahead by mistake, this
/// one stays ahead, and goes on from there. Thread-safe.
class NeverBack final : public Clock {
 public:
  /// Both have to outlive it.
  NeverBack(const Clock& clock, std::atomic<std::uint64_t>& latest)
      : clock_(clock), latest_(latest), from_wall_(seen(clock.wall())), from_steady_(clock.steady()) {}

  [[nodiscard]] WallTime wall() const override {
    const auto passed = std::chrono::duration_cast<WallTime::duration>(clock_.steady() - from_steady_);
    return seen(std::max(clock_.wall(), from_wall_ + passed));
  }
  [[nodiscard]] SteadyTime steady() const override { return clock_.steady(); }

 private:
  WallTime seen(WallTime time) const {
    const auto now = static_cast<std::uint64_t>(time.time_since_epoch().count());
    std::uint64_t latest = latest_.load();
    while (latest < now && !latest_.compare_exchange_weak(latest, now)) {
    }
    return WallTime(WallTime::duration(static_cast<std::int64_t>(std::max(latest, now))));
  }

  const Clock& clock_;
  std::atomic<std::uint64_t>& latest_;
  const WallTime from_wall_;
  const SteadyTime from_steady_;
};

}  // namespace rest_fcgi::auth

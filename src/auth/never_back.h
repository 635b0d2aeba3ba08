// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::auth {

/// A clock whose calendar does not go back, for what ends at a time of day: what was over stays over when the
/// system's clock is set back, whether anybody looked meanwhile or not. Where the clock was ahead by mistake,
/// this one stays ahead, and goes on from there; but one that is set back by more than `kMostBack` was wrong
/// before, and what it said is forgotten. `latest` is the latest microsecond of Unix time that anybody saw,
/// shared by all who share the word. Thread-safe.
class NeverBack final : public Clock {
 public:
  /// Longer than clocks of hosts differ, and than a time zone that was mistaken for another.
  static constexpr std::chrono::hours kMostBack{24};

  /// Both have to outlive it.
  NeverBack(const Clock& clock, std::atomic<std::uint64_t>& latest)
      : clock_(clock), latest_(latest), ahead_(clock.wall().time_since_epoch() - passed()) {
    static_cast<void>(wall());
  }

  [[nodiscard]] WallTime wall() const override {
    const WallTime::duration now = clock_.wall().time_since_epoch();
    const WallTime::duration most = now + kMostBack;
    WallTime::duration time = std::max(now, ahead_.load() + passed());
    if (time > most) time = now;
    std::uint64_t latest = latest_.load();
    for (;;) {
      const WallTime::duration seen(static_cast<std::int64_t>(latest));
      if (seen > time && seen <= most) time = seen;
      if (latest_.compare_exchange_weak(latest, static_cast<std::uint64_t>(time.count()))) break;
    }
    ahead_ = time - passed();
    return WallTime(time);
  }
  [[nodiscard]] SteadyTime steady() const override { return clock_.steady(); }

 private:
  [[nodiscard]] WallTime::duration passed() const {
    return std::chrono::duration_cast<WallTime::duration>(clock_.steady().time_since_epoch());
  }

  const Clock& clock_;
  std::atomic<std::uint64_t>& latest_;
  mutable std::atomic<WallTime::duration> ahead_;  // of the steady time, by the last look
};

}  // namespace rest_fcgi::auth

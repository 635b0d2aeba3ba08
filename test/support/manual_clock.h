// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>

#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::test {

/// A clock that a test sets with `advance`. Its time does not change by itself. Thread-safe.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] WallTime wall() const override {
    return WallTime(std::chrono::seconds(1700000000)) + passed_.load();
  }
  [[nodiscard]] SteadyTime steady() const override {
    return SteadyTime(std::chrono::hours(1)) + passed_.load();
  }

  void advance(std::chrono::microseconds time) { passed_ = passed_.load() + time; }

 private:
  std::atomic<std::chrono::microseconds> passed_{std::chrono::microseconds(0)};
};

}  // namespace rest_fcgi::test

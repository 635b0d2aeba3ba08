// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

namespace rest_fcgi {

using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;
using SteadyTime = std::chrono::steady_clock::time_point;

/// A source of time. Objects that take a Clock borrow it. A Clock is thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  /// Returns calendar time, which may jump forwards or backwards.
  [[nodiscard]] virtual WallTime wall() const = 0;

  /// Returns monotonic time.
  [[nodiscard]] virtual SteadyTime steady() const = 0;
};

inline const Clock& system_clock() {
  class SystemClock final : public Clock {
   public:
    [[nodiscard]] WallTime wall() const override {
      return std::chrono::time_point_cast<WallTime::duration>(std::chrono::system_clock::now());
    }
    [[nodiscard]] SteadyTime steady() const override { return std::chrono::steady_clock::now(); }
  };
  static const SystemClock clock;
  return clock;
}

}  // namespace rest_fcgi

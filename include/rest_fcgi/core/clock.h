// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

namespace rest_fcgi {

using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;
using SteadyTime = std::chrono::steady_clock::time_point;

/// A source of time. `system_clock()` returns this host's clock. Tests use clocks that they set. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  /// Returns calendar time, for job ids and time stamps. Calendar time may jump forwards or backwards.
  [[nodiscard]] virtual WallTime wall() const = 0;

  /// Returns monotonic time, for ages and deadlines in this process.
  [[nodiscard]] virtual SteadyTime steady() const = 0;
};

/// Returns this host's clock, which lives as long as the process.
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

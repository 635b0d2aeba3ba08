// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

namespace rest_fcgi {

using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;
using SteadyTime = std::chrono::steady_clock::time_point;

/// Source of time. Tests use a clock that they set; `system_clock()` is the real one. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  /// Returns calendar time, for job ids and time stamps. It may jump.
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

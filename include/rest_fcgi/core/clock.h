// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

namespace rest_fcgi {

using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;
using SteadyTime = std::chrono::steady_clock::time_point;

/// Where the time comes from. Abstract so that tests can turn it by hand; `system_clock()` is the real one.
/// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  /// Calendar time: for job ids, stamps and what is stored in files. It may jump.
  [[nodiscard]] virtual WallTime wall() const = 0;

  /// Never goes back: for ages and deadlines inside this process.
  [[nodiscard]] virtual SteadyTime steady() const = 0;
};

/// The clock of this host. Lives as long as the process.
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

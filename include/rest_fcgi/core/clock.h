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
const Clock& system_clock();

}  // namespace rest_fcgi

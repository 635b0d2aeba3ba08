// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::gateway {

/// Counts the requests that get 503 because of overload, and logs their number at most once in ten seconds.
/// Thread-safe.
class OverloadLog {
 public:
  void note() noexcept { ++refused_; }

  /// Writes the log line if requests were refused and the last line is old enough. Called by one thread.
  void report(SteadyTime now);

 private:
  std::atomic<std::uint64_t> refused_ = 0;
  SteadyTime next_ = SteadyTime::min();
};

}  // namespace rest_fcgi::gateway

// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <mutex>

#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::salt {

/// What is known of a master that cannot be reached: while it is away one request at a time tries to connect,
/// and the others need not wait for `connect_timeout` each, one after the other. Thread-safe.
class Outage {
 public:
  /// How long nobody tries again: short, since whoever comes in that time is refused though the master may be
  /// back.
  static constexpr std::chrono::milliseconds kPause{100};

  explicit Outage(std::chrono::milliseconds connect_timeout) : connect_timeout_(connect_timeout) {}

  /// May the caller try to connect? If so it tells how that ended; one that does not keeps the others from
  /// trying for `connect_timeout` and a pause.
  bool may_try(SteadyTime now) {
    const std::scoped_lock lock(mutex_);
    if (!away_) return true;
    if (now < next_try_) return false;
    next_try_ = now + connect_timeout_ + kPause;
    return true;
  }

  void failed(SteadyTime now) {
    const std::scoped_lock lock(mutex_);
    away_ = true;
    next_try_ = now + kPause;
  }

  void succeeded() {
    const std::scoped_lock lock(mutex_);
    away_ = false;
  }

 private:
  const std::chrono::milliseconds connect_timeout_;
  std::mutex mutex_;
  bool away_ = false;
  SteadyTime next_try_;
};

}  // namespace rest_fcgi::salt

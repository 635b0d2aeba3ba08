// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::embedded::target {

/// The work that may be done to compile and match targets. The targets of all chunks of a request share one
/// Work, so that a short request with slow patterns cannot occupy a processor for long. One unit is about 100
/// ns, which is the comparison of two short texts. Used by one thread at a time.
class Work {
 public:
  /// Half a second. For comparison: 2,000 minions and 250 simple patterns take 2 million units.
  static constexpr std::int64_t kMost = 5'000'000;

  explicit Work(std::int64_t units = kMost, SteadyTime deadline = SteadyTime::max())
      : left_(units), deadline_(deadline) {}

  /// Subtracts units. Returns false if too few units are left or the deadline has passed. All later calls
  /// then return false, too, and the result of the match is not valid.
  bool spend(std::size_t units) noexcept {
    const auto wanted = static_cast<std::int64_t>(units);
    const std::int64_t before = left_;
    left_ = wanted < 0 || wanted > left_ ? 0 : left_ - wanted;
    is_spent_ = is_spent_ || left_ == 0;
    // Reads the clock only about every 10 ms.
    if (before / kPause != left_ / kPause && system_clock().steady() >= deadline_) stop();
    return !is_spent_;
  }

  /// Ends the work, because one comparison alone takes too long.
  void stop() noexcept {
    left_ = 0;
    is_spent_ = true;
  }

  [[nodiscard]] bool is_spent() const noexcept { return is_spent_; }
  [[nodiscard]] std::int64_t left() const noexcept { return left_; }

  /// Returns the error for the caller. REQUIRES: `is_spent` returns true.
  [[nodiscard]] static Error error() {
    return {ErrorKind::invocation,
            "The targets of this request take too long to compare with the minions: found more work than one "
            "request "
            "may cause, expected simpler patterns, fewer chunks, or a list of minions."};
  }

 private:
  static constexpr std::int64_t kPause = 100'000;

  std::int64_t left_;
  SteadyTime deadline_;
  bool is_spent_ = false;
};

}  // namespace rest_fcgi::embedded::target

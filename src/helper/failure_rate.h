// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string>

#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::helper {

/// Bounds how many passwords a second may turn out wrong, over all helpers that share a folder: so many a
/// second in the long run, and five times as many at once. What is not shared, this process counts alone. Not
/// synchronized.
class FailureRate {
 public:
  /// `folder` is where helpers share their count; empty where they do not.
  FailureRate(int each_second, const std::string& folder);

  /// Takes leave to try one password. False where too many were wrong.
  [[nodiscard]] bool enter();
  /// The password was good: it counts no more.
  void forgive();

 private:
  using Time = std::chrono::nanoseconds;  // since the host was started

  template <class Change>
  void change(const Change& change);

  const Time interval_;
  UniqueFd file_;
  Time paid_{0};  // when all that was taken will have been paid off
};

}  // namespace rest_fcgi::helper

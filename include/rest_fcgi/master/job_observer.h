// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

namespace rest_fcgi::master {

/// Receives jobs and minions as they appear, to count them. This is cheaper than events, which are texts.
/// Thread-safe. Its functions return quickly.
class JobObserver {
 public:
  virtual ~JobObserver() = default;

  /// A job, runner or wheel begins. `minions`: how many have to return.
  virtual void job_new(std::string_view fun, std::size_t minions) = 0;
  virtual void returned(std::string_view minion, std::string_view fun, bool success) = 0;
  virtual void minion_start(std::string_view minion) = 0;
  virtual void minion_gone(std::string_view minion) = 0;
};

}  // namespace rest_fcgi::master

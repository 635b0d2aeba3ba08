// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

namespace rest_fcgi::master {

/// The interface of an object that counts jobs and minions. Implementations are thread-safe and return
/// quickly.
class JobObserver {
 public:
  virtual ~JobObserver() = default;

  /// Handles the start of a job or runner; wheels are not counted. `minions` is the number of expected
  /// returns, and 0 for a runner.
  /// The names of a list of functions are separated by commas.
  virtual void job_new(std::string_view fun, std::size_t minions) = 0;
  virtual void returned(std::string_view minion, std::string_view fun, bool success) = 0;
  virtual void minion_start(std::string_view minion) = 0;
  virtual void minion_gone(std::string_view minion) = 0;
};

}  // namespace rest_fcgi::master

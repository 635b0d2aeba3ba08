// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/workers.h"
#include "rest_fcgi/returner/returners.h"

namespace rest_fcgi::recording {

/// The job caches that get all jobs, with a queue and a thread of their own for those who must not wait for
/// them, above all the one thread that hears all events. Failures stand in the log, the
/// first of each row of them. Thread-safe.
class Caches {
 public:
  using Call = std::function<Result<void>(returner::Returner&)>;

  struct Limits {
    std::size_t calls = 16384;
    std::size_t bytes = 64 * 1024 * 1024;  ///< of what the calls hold
  };

  Caches(std::unique_ptr<returner::Returners> returners, Limits limits);

  /// Calls each of them, now.
  void tell(std::string_view jid, const Call& call);

  /// Calls each of them, soon, in the order in which calls come here. Beyond the limits a call is dropped.
  void tell_soon(std::string jid, std::size_t bytes, Call call);

  /// All that was told before is where the job caches keep it. Errors: unavailable, also where that takes
  /// longer.
  [[nodiscard]] Result<void> flush(SteadyTime deadline);

 private:
  struct State;

  const std::shared_ptr<State> state_;  // shared with the calls, of which one may outlive this object
  const std::size_t most_bytes_;
  master::Workers workers_;
};

}  // namespace rest_fcgi::recording

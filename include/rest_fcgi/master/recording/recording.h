// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/returner/returners.h"

/// Stores the jobs of a real master in job caches of this program, as Salt's `ext_job_cache` does.
namespace rest_fcgi::recording {

/// Keeps the job caches, and the recorded jobs whose minions have not all returned. The Recorder outlives a
/// reload of the configuration. Thread-safe.
class Recorder {
 public:
  virtual ~Recorder() = default;

  /// Returns the counters of the writes to the job caches.
  [[nodiscard]] virtual const returner::WriteCounts& writes() const = 0;

  /// Waits until all earlier records are saved. Fails with `unavailable` if a job cache fails, or if
  /// `deadline` passes.
  virtual Result<void> flush(SteadyTime deadline) = 0;
};

[[nodiscard]] std::shared_ptr<Recorder> make_recorder(std::unique_ptr<returner::Returners> returners,
                                                      const Clock& clock);

/// Returns a master that passes all calls to `master` and records each job of minions. A return is recorded
/// even after its caller has stopped waiting. A failure of a job cache is only logged.
[[nodiscard]] std::shared_ptr<master::Master> make_master(std::shared_ptr<master::Master> master,
                                                          std::shared_ptr<Recorder> recorder);

}  // namespace rest_fcgi::recording

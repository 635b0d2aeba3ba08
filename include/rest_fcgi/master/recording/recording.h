// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/returner/returners.h"

/// Records jobs of a real master in our own job caches, as Salt's `ext_job_cache`.
namespace rest_fcgi::recording {

/// The parts that outlive a reload of the configuration: the job caches, and the jobs that wait for returns.
/// Thread-safe.
class Recorder {
 public:
  virtual ~Recorder() = default;

  /// Waits until all earlier records are saved. Errors: unavailable, also after `deadline`.
  virtual Result<void> flush(SteadyTime deadline) = 0;
};

/// Makes a recorder for all `ext_job_caches` of `returners`.
[[nodiscard]] std::shared_ptr<Recorder> make_recorder(std::unique_ptr<returner::Returners> returners,
                                                      const Clock& clock);

/// Wraps `master` so that each job of minions is recorded: its load when it was published, and its returns as
/// they come, also after the caller stopped waiting. Runners and wheels are not recorded. A failure of a job
/// cache is logged and does not affect the caller.
[[nodiscard]] std::shared_ptr<master::Master> make_master(std::shared_ptr<master::Master> master,
                                                          std::shared_ptr<Recorder> recorder);

}  // namespace rest_fcgi::recording

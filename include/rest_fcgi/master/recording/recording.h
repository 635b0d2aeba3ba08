// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/returner/returners.h"

/// Stores the jobs of a real master in job caches of this program, as Salt's `ext_job_cache` does.
namespace rest_fcgi::recording {

/// Owns the parts that outlive a reload of the configuration: the job caches, and the jobs that wait for
/// returns. Thread-safe.
class Recorder {
 public:
  virtual ~Recorder() = default;

  /// Waits until all earlier records are saved. Errors: unavailable, if a job cache fails, or at `deadline`.
  virtual Result<void> flush(SteadyTime deadline) = 0;
};

/// Makes a recorder that stores jobs in all `ext_job_caches` of `returners`.
[[nodiscard]] std::shared_ptr<Recorder> make_recorder(std::unique_ptr<returner::Returners> returners,
                                                      const Clock& clock);

/// Returns a master that passes all calls to `master` and records each job of minions. The load is recorded
/// when the job is published. The returns are recorded as they arrive, also after the caller has stopped
/// waiting. Runners and wheels are not recorded. A failure of a job cache is logged and does not affect the
/// caller.
[[nodiscard]] std::shared_ptr<master::Master> make_master(std::shared_ptr<master::Master> master,
                                                          std::shared_ptr<Recorder> recorder);

}  // namespace rest_fcgi::recording

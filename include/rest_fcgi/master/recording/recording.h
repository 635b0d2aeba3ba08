// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/returner/returners.h"

/// Job caches of this endpoint's own, for an engine that keeps its jobs elsewhere: Salt's `ext_job_cache`,
/// of what passes here.
namespace rest_fcgi::recording {

/// What outlives a reload of the configuration: the job caches, and the jobs whose returns are still to come.
/// Thread-safe.
class Recorder {
 public:
  virtual ~Recorder() = default;

  /// What was told before is on the disk, or where the job cache keeps it. Errors: unavailable, also where
  /// that takes longer.
  virtual Result<void> flush(SteadyTime deadline) = 0;
};

/// Records into all that `returners` has as `ext_job_caches`.
[[nodiscard]] std::shared_ptr<Recorder> make_recorder(std::unique_ptr<returner::Returners> returners,
                                                      const Clock& clock);

/// `master`, with each job that minions get in the recorder's job caches: its load when it was published, and
/// its returns as they come, also those that nobody waits for (any more). Runners and wheels are not
/// recorded. A job cache that fails stands in the log, and changes nothing for the caller.
[[nodiscard]] std::shared_ptr<master::Master> make_master(std::shared_ptr<master::Master> master,
                                                          std::shared_ptr<Recorder> recorder);

}  // namespace rest_fcgi::recording

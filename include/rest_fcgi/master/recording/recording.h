// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/returner/returners.h"

/// Stores the jobs of a real master in job caches of this program, as Salt's `ext_job_cache` does.
namespace rest_fcgi::recording {

class Caches;
class RecordedJob;

/// Keeps the job caches, and the RecordedJob of each job whose minions have not all returned, because a
/// master delivers returns only to an Addressee that still exists. The Recorder outlives a reload of the
/// configuration. Thread-safe.
class Recorder {
 public:
  Recorder(std::shared_ptr<Caches> caches, const Clock& clock, std::size_t max_jobs)
      : caches_(std::move(caches)), clock_(clock), max_jobs_(max_jobs) {}

  [[nodiscard]] const std::shared_ptr<Caches>& caches() const noexcept { return caches_; }

  /// Keeps a job until all its minions have returned, at most for an hour. If more than `max_jobs` are kept,
  /// drops the oldest job with a warning.
  void keep(std::shared_ptr<const RecordedJob> job);

  /// Returns the counters of the writes to the job caches.
  [[nodiscard]] const returner::WriteCounts& writes() const;

  /// Waits until all earlier records are saved. Fails with `unavailable` if a job cache fails, or if
  /// `deadline` passes.
  Result<void> flush(SteadyTime deadline);

 private:
  struct Entry {
    SteadyTime until;
    std::shared_ptr<const RecordedJob> job;
  };

  void sweep(SteadyTime now) REQUIRES(mutex_);

  const std::shared_ptr<Caches> caches_;
  const Clock& clock_;
  const std::size_t max_jobs_;
  Mutex mutex_;
  std::deque<Entry> jobs_ GUARDED_BY(mutex_);  // `jobs_` has the oldest job first.
  // The number of jobs after the last removal of finished jobs.
  std::size_t swept_size_ GUARDED_BY(mutex_) = 0;
  bool has_warned_ GUARDED_BY(mutex_) = false;
};

[[nodiscard]] std::shared_ptr<Recorder> make_recorder(std::unique_ptr<returner::Returners> returners,
                                                      const Clock& clock);

/// Returns a master that passes all calls to `master` and records each job of minions. A return is recorded
/// even after its caller has stopped waiting. A failure of a job cache is only logged.
[[nodiscard]] std::shared_ptr<master::Master> make_master(std::shared_ptr<master::Master> master,
                                                          std::shared_ptr<Recorder> recorder);

}  // namespace rest_fcgi::recording

// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>

#include "master/recording/caches.h"
#include "master/recording/recorded_job.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/master/recording/recording.h"

namespace rest_fcgi::recording {

/// The Recorder that `make_recorder` makes. It holds what hears of a job, since a master tells only of jobs
/// whose mailbox somebody holds.
class JobRecorder final : public Recorder {
 public:
  JobRecorder(std::shared_ptr<Caches> caches, const Clock& clock, std::size_t max_jobs)
      : caches_(std::move(caches)), clock_(clock), max_jobs_(max_jobs) {}

  [[nodiscard]] const std::shared_ptr<Caches>& caches() const noexcept { return caches_; }

  /// Holds both until all minions have returned, at most an hour. Beyond the number of jobs that may be held
  /// the oldest is let go: returns that it still gets are not recorded, and the log says so.
  void hold(std::shared_ptr<const RecordedJob> job, std::shared_ptr<master::Returns> returns);

  Result<void> flush(SteadyTime deadline) override { return caches_->flush(deadline); }

 private:
  struct Held {
    SteadyTime until;
    std::shared_ptr<const RecordedJob> job;
    std::shared_ptr<master::Returns> returns;
  };

  /// Lets go of what is done or too old.
  void sweep(SteadyTime now);

  const std::shared_ptr<Caches> caches_;
  const Clock& clock_;
  const std::size_t max_jobs_;
  std::mutex mutex_;
  std::deque<Held> held_;     // oldest first; guarded by mutex_, as all that follows
  std::size_t swept_at_ = 0;  // the number of jobs that a look at all of them left
  bool told_ = false;         // of a job that was let go
};

}  // namespace rest_fcgi::recording

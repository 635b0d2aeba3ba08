// SPDX-License-Identifier: MIT
#include "master/recording/recorder.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::recording {
namespace {

/// A minion that returns later than that was not there when the job was published.
constexpr std::chrono::hours kLongestJob{1};

constexpr std::size_t kMaxJobs = 4096;

}  // namespace

void JobRecorder::hold(std::shared_ptr<const RecordedJob> job, std::shared_ptr<master::Returns> returns) {
  if (job->done()) return;
  const SteadyTime now = clock_.steady();
  Held oldest;  // let go without the lock: it may be the last that holds it
  const std::scoped_lock lock(mutex_);
  sweep(now);
  if (held_.size() >= max_jobs_) {
    oldest = std::move(held_.front());
    held_.pop_front();
    if (!std::exchange(told_, true)) {
      log::warning(
          format("ext_job_cache: more than {} jobs wait for returns; of the oldest ones those that "
                 "still come are not kept",
                 max_jobs_));
    }
  }
  held_.push_back({now + kLongestJob, std::move(job), std::move(returns)});
}

void JobRecorder::sweep(SteadyTime now) {
  while (!held_.empty() && held_.front().until <= now) held_.pop_front();
  // A look at all of them once their number has doubled costs little for each.
  if (held_.size() < std::max<std::size_t>(2 * swept_at_, 64) && held_.size() < max_jobs_) return;
  std::erase_if(held_, [](const Held& held) { return held.job->done(); });
  swept_at_ = held_.size();
}

std::shared_ptr<Recorder> make_recorder(std::unique_ptr<returner::Returners> returners, const Clock& clock) {
  auto caches = std::make_shared<Caches>(std::move(returners), Caches::Limits{});
  return std::make_shared<JobRecorder>(std::move(caches), clock, kMaxJobs);
}

}  // namespace rest_fcgi::recording

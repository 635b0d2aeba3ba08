// SPDX-License-Identifier: MIT
#include "master/embedded/running_jobs.h"

#include <algorithm>
#include <utility>

namespace rest_fcgi::embedded {

RunningJob::RunningJob(returner::Load load, std::string ret, Interrupt interrupt)
    : load_(std::move(load)),
      ret_(std::move(ret)),
      interrupt_(std::move(interrupt)),
      calls_(load_.minions.size(), State::running),
      unfinished_(calls_.size()) {}

bool RunningJob::claim(std::size_t call) {
  const std::lock_guard lock(mutex_);
  if (calls_[call] != State::running) return false;
  calls_[call] = State::claimed;
  return true;
}

bool RunningJob::finish(std::size_t call) {
  const std::lock_guard lock(mutex_);
  calls_[call] = State::finished;
  return --unfinished_ == 0;
}

bool RunningJob::runs_on(std::string_view minion) const {
  const auto found = std::lower_bound(load_.minions.begin(), load_.minions.end(), minion);
  if (found == load_.minions.end() || *found != minion) return false;
  const std::lock_guard lock(mutex_);
  return calls_[static_cast<std::size_t>(found - load_.minions.begin())] != State::finished;
}

std::size_t RunningJob::interrupt() {
  std::size_t interrupted = 0;
  for (std::size_t call = 0; call < load_.minions.size(); ++call) {
    if (!claim(call)) continue;
    interrupt_(call);
    ++interrupted;
  }
  return interrupted;
}

void RunningJobs::add(std::shared_ptr<RunningJob> job) {
  const std::lock_guard lock(mutex_);
  jobs_.emplace(job->load().jid, std::move(job));
}

void RunningJobs::finish(RunningJob& job, std::size_t call) {
  if (!job.finish(call)) return;
  const std::lock_guard lock(mutex_);
  jobs_.erase(job.load().jid);
}

std::shared_ptr<const RunningJob> RunningJobs::find(std::string_view jid) const {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(jid);
  return found == jobs_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<const RunningJob>> RunningJobs::all() const {
  std::vector<std::shared_ptr<const RunningJob>> jobs;
  const std::lock_guard lock(mutex_);
  for (const auto& [jid, job] : jobs_) jobs.push_back(job);
  return jobs;
}

std::size_t RunningJobs::interrupt_all() {
  decltype(jobs_) jobs;
  {
    const std::lock_guard lock(mutex_);
    jobs.swap(jobs_);
  }
  std::size_t interrupted = 0;
  for (const auto& [jid, job] : jobs) interrupted += job->interrupt();
  return interrupted;
}

}  // namespace rest_fcgi::embedded

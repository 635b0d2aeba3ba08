// SPDX-License-Identifier: MIT
#include "master/embedded/jobs/running_jobs.h"

#include <algorithm>
#include <utility>

namespace rest_fcgi::embedded {

namespace {

/// The job's own copies of it, as JSON text and parsed, are about four times that.
std::size_t bytes_of(const returner::Load& load) {
  const std::size_t metadata = load.metadata ? load.metadata->text().size() : 0;
  return load.fun.text().size() + load.arg.text().size() + load.tgt.text().size() + metadata;
}

}  // namespace

RunningJob::RunningJob(returner::Load load, std::string ret, Interrupt interrupt)
    : load_(std::move(load)),
      ret_(std::move(ret)),
      interrupt_(std::move(interrupt)),
      calls_(load_.minions.size()),
      unfinished_(calls_.size()) {}

bool RunningJob::claim(std::size_t call) {
  const std::lock_guard lock(mutex_);
  if (calls_[call].state != State::running) return false;
  calls_[call].state = State::claimed;
  return true;
}

bool RunningJob::finish(std::size_t call) {
  const std::lock_guard lock(mutex_);
  calls_[call].state = State::finished;
  return --unfinished_ == 0;
}

std::optional<std::size_t> RunningJob::call_on(std::string_view minion) const {
  const auto found = std::lower_bound(load_.minions.begin(), load_.minions.end(), minion);
  if (found == load_.minions.end() || *found != minion) return std::nullopt;
  return static_cast<std::size_t>(found - load_.minions.begin());
}

bool RunningJob::runs_on(std::string_view minion) const {
  const std::optional<std::size_t> call = call_on(minion);
  const std::lock_guard lock(mutex_);
  return call && calls_[*call].state != State::finished;
}

std::vector<std::string> RunningJob::running() const {
  std::vector<std::string> running;
  const std::lock_guard lock(mutex_);
  for (std::size_t call = 0; call < calls_.size(); ++call) {
    if (calls_[call].state != State::finished) running.push_back(load_.minions[call]);
  }
  return running;
}

bool RunningJob::stop_on(std::string_view minion) {
  if (!runs_on(minion)) return false;
  stop(*call_on(minion));
  return true;
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

bool RunningJobs::take_room(const returner::Load& load) {
  const std::size_t bytes = bytes_of(load);
  if (bytes_.fetch_add(bytes) + bytes <= max_bytes_) return true;
  bytes_ -= bytes;
  return false;
}

void RunningJobs::give_room(const returner::Load& load) {
  bytes_ -= bytes_of(load);
}

void RunningJobs::add(std::shared_ptr<RunningJob> job) {
  const std::lock_guard lock(mutex_);
  jobs_.emplace(job->load().jid, std::move(job));
}

bool RunningJobs::finish(RunningJob& job, std::size_t call) {
  if (!job.finish(call)) return false;
  give_room(job.load());
  const std::lock_guard lock(mutex_);
  jobs_.erase(job.load().jid);
  return true;
}

bool RunningJobs::empty() const {
  const std::lock_guard lock(mutex_);
  return jobs_.empty();
}

std::shared_ptr<RunningJob> RunningJobs::find(std::string_view jid) const {
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

std::vector<std::shared_ptr<RunningJob>> RunningJobs::take_all() {
  std::vector<std::shared_ptr<RunningJob>> taken;
  const std::lock_guard lock(mutex_);
  for (auto& [jid, job] : jobs_) taken.push_back(std::move(job));
  jobs_.clear();
  return taken;
}

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#include "client/pending_job.h"

#include <algorithm>
#include <utility>

namespace rest_fcgi::client {

PendingJob::PendingJob(std::vector<std::string> minions, Patience patience, SteadyTime now)
    : minions_(std::move(minions)), patience_(patience), deadline_(now + patience.timeout) {
  for (const std::string& minion : minions_) limits_.emplace(minion, deadline_);
}

bool PendingJob::returned(std::string_view minion) {
  return limits_.erase(minion) != 0;
}

void PendingJob::runs(std::string_view minion, SteadyTime now) {
  const auto limit = limits_.find(minion);
  if (limit == limits_.end()) return;
  limit->second = now + patience_.timeout;
  ask_ = true;
}

PendingJob::Step PendingJob::step(SteadyTime now) const {
  if (now < deadline_) return Step::wait;
  if (ask_) return Step::ask;
  return now < latest_limit() ? Step::wait : Step::give_up;
}

SteadyTime PendingJob::due(SteadyTime now) const {
  return ask_ || now < deadline_ ? deadline_ : latest_limit();
}

void PendingJob::asked(SteadyTime now) {
  deadline_ = now + patience_.gather_job_timeout;
  ask_ = false;
}

SteadyTime PendingJob::latest_limit() const {
  SteadyTime latest = SteadyTime::min();
  for (const auto& [minion, limit] : limits_) latest = std::max(latest, limit);
  return latest;
}

std::vector<std::string> PendingJob::waiting() const {
  std::vector<std::string> waiting;
  std::copy_if(minions_.begin(), minions_.end(), std::back_inserter(waiting),
               [this](const std::string& minion) { return limits_.count(minion) != 0; });
  return waiting;
}

}  // namespace rest_fcgi::client

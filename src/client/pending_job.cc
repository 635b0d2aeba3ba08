// SPDX-License-Identifier: MIT
#include "client/pending_job.h"

#include <algorithm>
#include <utility>

namespace rest_fcgi::client {

PendingJob::PendingJob(std::vector<std::string> minions, Patience patience, SteadyTime now)
    : minions_(std::make_move_iterator(minions.begin()), std::make_move_iterator(minions.end())),
      patience_(patience),
      settled_(now + patience.syndic_wait),
      deadline_(now + patience.timeout) {
  for (const std::string& minion : minions_) limits_.emplace(minion, deadline_);
}

void PendingJob::expect(const std::vector<std::string>& minions, SteadyTime now) {
  for (const std::string& minion : minions) {
    if (std::find(minions_.begin(), minions_.end(), minion) != minions_.end()) continue;
    minions_.push_back(minion);
    limits_.emplace(minions_.back(), now + patience_.timeout);
  }
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
  if (limits_.empty()) return now < settled_ ? Step::wait : Step::give_up;
  if (now < deadline_) return Step::wait;
  if (ask_) return Step::ask;
  return now < latest_limit() ? Step::wait : Step::give_up;
}

SteadyTime PendingJob::due(SteadyTime now) const {
  if (limits_.empty()) return settled_;
  return ask_ || now < deadline_ ? deadline_ : latest_limit();
}

void PendingJob::asked(SteadyTime now) {
  deadline_ = now + patience_.gather_job_timeout + patience_.syndic_wait;
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

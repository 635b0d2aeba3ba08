// SPDX-License-Identifier: MIT
#include "client/pending_job.h"

#include <algorithm>
#include <iterator>

namespace rest_fcgi::client {

PendingJob::PendingJob(const std::vector<std::string>& minions, Patience patience, SteadyTime now)
    : patience_(patience), settled_(now + patience.syndic_wait), deadline_(now + patience.timeout) {
  for (const std::string& minion : minions) add(minion, deadline_);
}

bool PendingJob::add(std::string_view minion, SteadyTime limit) {
  if (known_.count(minion) > 0) return false;
  const std::string& added = minions_.emplace_back(minion);
  known_.insert(added);
  limits_.emplace(added, limit);
  return true;
}

void PendingJob::expect(const std::vector<std::string>& minions, const std::vector<std::string>& syndics,
                        SteadyTime now) {
  for (const std::string& syndic : syndics) {
    const auto found = limits_.find(syndic);
    if (found == limits_.end()) continue;
    syndics_.insert(found->first);
    limits_.erase(found);
  }
  for (const std::string& minion : minions) {
    if (add(minion, now + patience_.timeout)) continue;
    if (auto syndic = syndics_.extract(minion)) limits_.emplace(syndic.value(), now + patience_.timeout);
  }
}

bool PendingJob::returned(std::string_view minion) {
  if (limits_.erase(minion) + syndics_.erase(minion) > 0) return true;
  if (patience_.syndic_wait.count() == 0 || !add(minion, deadline_)) return false;
  limits_.erase(minion);
  return true;
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

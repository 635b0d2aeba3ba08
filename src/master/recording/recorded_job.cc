// SPDX-License-Identifier: MIT
#include "master/recording/recorded_job.h"

#include <utility>
#include <variant>

namespace rest_fcgi::recording {

void RecordedJob::hear(master::Delivery delivery) {
  {
    const std::scoped_lock lock(mutex_);
    if (jid_.empty()) {
      early_.push_back(delivery);
    } else {
      record(delivery);
    }
  }
  if (const auto listener = listener_.lock()) listener->put(std::move(delivery));
}

void RecordedJob::begin(const returner::Load& load) {
  // On the caller's thread: what is answered next, a crash does not take away.
  caches_->tell(load.jid, [&](returner::Returner& cache) {
    return cache.save_load(load, returner::Durability::grouped);
  });
  const std::scoped_lock lock(mutex_);
  jid_ = load.jid;
  expected_.insert(load.minions.begin(), load.minions.end());
  for (const master::Delivery& delivery : std::exchange(early_, {})) record(delivery);
}

bool RecordedJob::done() const {
  const std::scoped_lock lock(mutex_);
  return lost_ || (!jid_.empty() && expected_.empty());
}

void RecordedJob::record(const master::Delivery& delivery) {
  if (const auto* ret = std::get_if<master::Return>(&delivery)) return record_return(*ret);
  if (const auto* more = std::get_if<master::MoreMinions>(&delivery)) return record_more(*more);
  lost_ = true;
}

void RecordedJob::record_return(const master::Return& ret) {
  expected_.erase(ret.minion);
  returned_.insert(ret.minion);
  caches_->tell_soon(
      jid_, ret.ret.text().size(),
      [jid = jid_, kept = returner::JobReturn{ret.minion, ret.ret, ret.retcode, ret.success, ret.out}](
          returner::Returner& cache) { return cache.returner(jid, kept); });
}

void RecordedJob::record_more(const master::MoreMinions& more) {
  for (const std::string& minion : more.minions) {
    if (returned_.count(minion) == 0) expected_.insert(minion);
  }
  for (const std::string& syndic : more.syndics) expected_.erase(syndic);
  caches_->tell_soon(jid_, 0, [jid = jid_, minions = more.minions](returner::Returner& cache) {
    return cache.save_minions(jid, minions);
  });
}

}  // namespace rest_fcgi::recording

// SPDX-License-Identifier: MIT
#include "master/embedded/jobs.h"

#include <utility>

#include "master/embedded/minion.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::embedded {

Jobs::Jobs(std::unique_ptr<returner::Returner> cache, const Clock& clock)
    : cache_(std::move(cache)), clock_(clock), master_id_(host_name() + "_master"), jids_(clock) {}

std::string Jobs::new_jid() {
  std::string jid = jids_.next();
  while (any_chosen_ && is_known(jid)) jid = jids_.next();
  return jid;
}

Result<std::string> Jobs::save(returner::Load load, std::string_view chosen) {
  std::unique_lock lock(choosing_, std::defer_lock);
  if (chosen.empty()) {
    load.jid = new_jid();
  } else {
    lock.lock();
    if (is_known(chosen)) {
      return Error{ErrorKind::invocation,
                   format("The jid {} is taken: a job with it was published before.", chosen)};
    }
    any_chosen_ = true;
    load.jid = chosen;
  }
  std::string jid = load.jid;
  if (Result<void> saved = cache_->save_load(std::move(load)); !saved) return std::move(saved).error();
  return jid;
}

void Jobs::record(std::string_view jid, const master::Return& ret) {
  const Result<void> kept = cache_->returner(jid, {ret.minion, ret.ret, ret.retcode, ret.success, ret.out});
  if (!kept) {
    log::error(format("the return of {} for job {} is not in the job cache: {}", ret.minion, jid,
                      kept.error().message));
  }
}

bool Jobs::is_known(std::string_view jid) const {
  if (running_.find(jid) != nullptr) return true;
  const Result<std::optional<returner::StoredJob>> job = cache_->get_job(jid);
  return job.ok() && job->has_value();
}

}  // namespace rest_fcgi::embedded

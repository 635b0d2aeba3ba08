// SPDX-License-Identifier: MIT
#include "master/embedded/jobs/jobs.h"

#include <algorithm>
#include <utility>

#include "master/embedded/host/host_names.h"
#include "master/embedded/minion.h"
#include "master/embedded/target/target_compound.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::embedded {

namespace {

/// The names in `ret`, which Salt separates by commas.
std::vector<std::string_view> names_in(std::string_view ret) {
  std::vector<std::string_view> names = target::split_ids(ret);
  for (std::string_view& name : names) {
    name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
    name = name.substr(0, name.find_last_not_of(' ') + 1);
  }
  return names;
}

}  // namespace

Jobs::Jobs(std::unique_ptr<returner::Returners> returners, const Clock& clock, std::unique_ptr<ProcDir> proc,
           std::size_t max_queued_bytes, master::JidShare jid_share)
    : returners_(std::move(returners)),
      clock_(clock),
      master_id_(host_name() + "_master"),
      proc_(std::move(proc)),
      running_(max_queued_bytes),
      jids_(clock, master::JidSource::default_name(), jid_share),
      watcher_([this] { return heed_marks(); }) {
  (void)others();
}

Result<std::string> Jobs::claim_jid(std::string_view chosen) {
  if (chosen.empty()) return new_jid();
  // One that was made here or by another process moments ago may not be in the job cache yet.
  const std::string latest = master::jid_at(clock_.wall() - std::chrono::seconds(2));
  if (chosen > latest) {
    return Error{ErrorKind::invocation,
                 format("The jid {} is not of the past: {} is the latest that a caller may choose now.",
                        chosen, latest)};
  }
  const Result<bool> free = cache().prep_jid(chosen);
  if (!free) return free.error();
  if (*free) return std::string(chosen);
  return Error{ErrorKind::invocation,
               format("The jid {} is taken: a job with it was published before.", chosen)};
}

Result<void> Jobs::check_returners(std::string_view ret) const {
  for (const std::string_view name : names_in(ret)) {
    if (returners_->find(name) != nullptr) continue;
    std::string known;
    for (const std::string& one : returners_->names()) known.append(known.empty() ? "" : ", ").append(one);
    return Error{ErrorKind::invocation,
                 format("'ret' names the returner {}; those here are {}.", quoted(name), known)};
  }
  return {};
}

Jobs::Also Jobs::also_for(std::string_view ret) const {
  Also also;
  const auto add = [this, &also](returner::Returner* one) {
    if (one == nullptr || one == &cache() || std::find(also.begin(), also.end(), one) != also.end()) return;
    also.push_back(one);
  };
  for (returner::Returner* one : returners_->ext_job_caches()) add(one);
  for (const std::string_view name : names_in(ret)) add(returners_->find(name));
  return also;
}

void Jobs::log_failure(const Result<void>& kept, std::string_view what, std::string_view jid) {
  if (kept) return;
  const std::string line =
      format("{} of job {} is not in the job cache: {}", what, jid, kept.error().message);
  // Under load there would be thousands of these lines.
  if (failing_.exchange(true)) {
    log::debug(line);
  } else {
    log::error(line + "; further failures are logged at the level debug");
  }
}

Result<void> Jobs::save(const returner::Load& load, returner::Durability durability, const Also& also) {
  const Result<void> saved = cache().save_load(load, durability);
  log_failure(saved, "the load", load.jid);
  // Only what had to be on the disk and is, says that the disk takes it.
  if (saved && durability == returner::Durability::durable && failing_.exchange(false)) {
    log::warning("the job cache works again");
  }
  if (!saved && durability == returner::Durability::durable) {
    return Error{ErrorKind::unavailable,
                 format("The job cannot be kept, and was not started: {}", saved.error().message)};
  }
  for (returner::Returner* one : also) {
    log_failure(one->save_load(load, returner::Durability::grouped), "the load", load.jid);
  }
  return {};
}

void Jobs::record(std::string_view jid, const master::Return& ret, const Also& also) {
  const returner::JobReturn kept{ret.minion, ret.ret, ret.retcode, ret.success, ret.out};
  log_failure(cache().returner(jid, kept), "a return", jid);
  for (returner::Returner* one : also) log_failure(one->returner(jid, kept), "a return", jid);
}

Result<void> Jobs::start(const std::shared_ptr<RunningJob>& job, returner::Durability durability,
                         const Also& also) {
  const returner::Load& load = job->load();
  if (!running_.take_room(load)) {
    return Error{ErrorKind::unavailable,
                 "The jobs that run or wait take all the memory that they may (max_queued_bytes)."};
  }
  // Before it is kept: of a job that somebody may hear of, a trace is left whenever the process is killed.
  if (proc_) {
    if (const Result<void> shown = proc_->add(load, job->ret()); !shown) {
      log::warning(format("job {} is not shown to other processes: {}", load.jid, shown.error().message));
    }
  }
  if (Result<void> saved = save(load, durability, also); !saved) {
    if (proc_) proc_->remove(load.jid);
    running_.give_room(load);
    return saved;
  }
  running_.add(job);
  if (proc_) watcher_.wake();
  return {};
}

void Jobs::finish(RunningJob& job, std::size_t call) {
  if (running_.finish(job, call) && proc_) proc_->remove(job.load().jid);
}

std::size_t Jobs::interrupt_all() {
  std::size_t interrupted = 0;
  for (const auto& job : running_.take_all()) {
    interrupted += job->interrupt();
    if (proc_) proc_->remove(job->load().jid);
  }
  return interrupted;
}

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "master/embedded/jobs/jobs.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::embedded {

Json describe_running(pid_t pid, const returner::Load& load, std::string_view ret) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("pid").integer(pid).key("fun").json(load.fun).key("arg").json(load.arg);
  writer.key("tgt").json(load.tgt).key("jid").string(load.jid).key("ret").string(ret);
  writer.key("tgt_type").string(load.tgt_type).key("user").string(load.user).end_object();
  return Json::trusted(std::move(text));
}

std::vector<ProcEntry> Jobs::others() {
  std::vector<ProcEntry> alive;
  if (!proc_) return alive;
  for (ProcEntry& entry : proc_->others()) {
    if (entry.process.runs()) {
      alive.push_back(std::move(entry));
    } else {
      settle(entry);
    }
  }
  return alive;
}

/// Several processes may do so at the same time: they record the same, and the last one finds no file. A
/// return that the dead process left behind may come to the job cache before or after that, and stays.
void Jobs::settle(const ProcEntry& orphan) {
  if (!proc_->has(orphan)) return;  // it ended well, after we had read of it
  const Result<void> recorded = record_orphan(orphan);
  if (recorded) return proc_->drop(orphan);
  // It is tried again by whoever looks next.
  log_failure(recorded, format("the end of process {}", orphan.process.pid), orphan.load.jid);
}

Result<void> Jobs::record_orphan(const ProcEntry& orphan) {
  const std::string& jid = orphan.load.jid;
  Result<std::optional<returner::Load>> kept = cache().get_load(jid);
  if (!kept) return std::move(kept).error();
  const bool known = kept->has_value();
  const returner::Load load = known ? **std::move(kept) : orphan.load;
  const Also also = also_for(orphan.ret);
  if (!known && !load.minions.empty()) {
    if (Result<void> saved = save(load, returner::Durability::durable, also); !saved) return saved;
  }
  const Result<std::vector<returner::JobReturn>> returns = cache().get_jid(jid);
  if (!returns) return returns.error();
  std::unordered_set<std::string_view> returned;
  for (const returner::JobReturn& ret : *returns) returned.insert(ret.minion);
  std::size_t missing = 0;
  for (const std::string& minion : load.minions) {
    if (returned.contains(minion)) continue;
    const returner::JobReturn ret{minion, orphaned_return(load), 1, false, "", true};
    if (Result<void> recorded = cache().returner(jid, ret); !recorded) return recorded;
    for (returner::Returner* one : also) log_failure(one->returner(jid, ret), "a return", jid);
    ++missing;
  }
  if (missing == 0) return {};
  log::warning(format("job {} was interrupted: its process {} is gone, and {} of its {} returns are missing",
                      jid, orphan.process.pid, missing, load.minions.size()));
  return {};
}

Json Jobs::orphaned_return(const returner::Load& load) const {
  const bool on_the_master = load.minions.size() == 1 && load.minions.front() == master_id_;
  if (!on_the_master) return Json::string(kOrphaned);
  // Runners and wheels return their whole event.
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("fun").json(load.fun).key("jid").string(load.jid);
  writer.key("user").string(load.user).key("fun_args").json(load.arg);
  writer.key("_stamp").string(master::iso_stamp(clock_.wall())).key("return").string(kOrphaned);
  writer.key("success").boolean(false).end_object();
  return Json::trusted(std::move(text));
}

/// Its file does not tell which minions returned, but where processes share a job cache, that does.
ActiveJob Jobs::seen_from_here(ProcEntry entry) const {
  ActiveJob job{entry.process.pid, std::move(entry.load), std::move(entry.ret), {}};
  const auto returns = cache().get_jid(job.load.jid);
  for (const std::string& minion : job.load.minions) {
    const bool returned =
        returns && std::any_of(returns->begin(), returns->end(),
                               [&minion](const returner::JobReturn& ret) { return ret.minion == minion; });
    if (!returned) job.running.push_back(minion);
  }
  return job;
}

std::vector<ActiveJob> Jobs::active() {
  std::vector<ActiveJob> jobs;
  for (const auto& job : running_.all()) {
    jobs.push_back({::getpid(), job->load(), job->ret(), job->running()});
  }
  for (ProcEntry& entry : others()) jobs.push_back(seen_from_here(std::move(entry)));
  std::sort(jobs.begin(), jobs.end(),
            [](const ActiveJob& a, const ActiveJob& b) { return a.load.jid < b.load.jid; });
  return jobs;
}

Result<std::optional<pid_t>> Jobs::stop(std::string_view jid, std::string_view minion) {
  if (const auto job = running_.find(jid); job && job->stop_on(minion)) {
    return std::optional<pid_t>(::getpid());
  }
  for (const ProcEntry& entry : others()) {
    if (entry.load.jid != jid) continue;
    const auto& minions = entry.load.minions;
    const auto found = std::lower_bound(minions.begin(), minions.end(), minion);
    if (found == minions.end() || *found != minion) continue;
    Result<void> marked = proc_->mark(entry, static_cast<std::size_t>(found - minions.begin()));
    if (!marked) return std::move(marked).error();
    return std::optional<pid_t>(entry.process.pid);
  }
  return std::optional<pid_t>();
}

bool Jobs::heed_marks() {
  for (const ProcDir::Mark& mark : proc_->take_marks()) {
    const auto job = running_.find(mark.jid);
    if (job && mark.call < job->load().minions.size()) job->stop(mark.call);
  }
  return !running_.empty();
}

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#include "master/embedded/jobs/jobs.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "master/embedded/host/grains.h"
#include "master/embedded/text.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/jid.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/waiting.h"

namespace rest_fcgi::embedded {

namespace {

std::size_t bytes_of(const returner::Load& load) {
  const std::size_t metadata = load.metadata ? load.metadata->text().size() : 0;
  return load.fun.text().size() + load.arg.text().size() + load.tgt.text().size() + metadata;
}

std::optional<std::size_t> position_in(const std::vector<std::string>& minions, std::string_view minion) {
  const auto found = std::lower_bound(minions.begin(), minions.end(), minion);
  if (found == minions.end() || *found != minion) return std::nullopt;
  return static_cast<std::size_t>(found - minions.begin());
}

/// Logs a failed save with the level debug only, because the store and etcd's outbox log the error once.
void log_failure(const Result<void>& saved, std::string_view what, std::string_view jid) {
  if (!saved) log::debug(format("{} of job {} is not saved: {}", what, jid, saved.error().message));
}

Error not_started(const Error& why) {
  return {ErrorKind::unavailable,
          format("The job was not started, because it cannot be saved: {}", why.message)};
}

}  // namespace

bool pause(std::chrono::duration<double> length, const std::stop_token& stop) {
  const Waiting waiting;
  std::mutex mutex;
  std::condition_variable_any never_notified;
  std::unique_lock lock(mutex);
  never_notified.wait_for(lock, stop, length, [] { return false; });
  return !stop.stop_requested();
}

Json describe_running(pid_t pid, const returner::Load& load, std::string_view ret) {
  return written_object([&](JsonWriter& writer) {
    writer.key("pid").integer(pid).key("fun").json(load.fun).key("arg").json(load.arg);
    writer.key("tgt").json(load.tgt).key("jid").string(load.jid).key("ret").string(ret);
    writer.key("tgt_type").string(load.tgt_type).key("user").string(load.user);
  });
}

std::vector<std::string> without_return(const returner::Load& load,
                                        const std::vector<returner::JobReturn>& returns) {
  std::unordered_set<std::string_view> returned;
  for (const returner::JobReturn& ret : returns) returned.insert(ret.minion);
  std::vector<std::string> missing = load.minions;
  std::erase_if(missing, [&returned](const std::string& minion) { return returned.contains(minion); });
  return missing;
}

RunningJob::RunningJob(returner::Load load, std::string ret, Interrupt interrupt)
    : load_(std::move(load)),
      ret_(std::move(ret)),
      interrupt_(std::move(interrupt)),
      calls_(load_.minions.size()),
      unfinished_(calls_.size()) {}

bool RunningJob::claim(std::size_t call) {
  const MutexLock lock(mutex_);
  if (calls_[call].state != State::running) return false;
  calls_[call].state = State::claimed;
  return true;
}

bool RunningJob::finish(std::size_t call) {
  const MutexLock lock(mutex_);
  calls_[call].state = State::finished;
  return --unfinished_ == 0;
}

bool RunningJob::runs_on(std::string_view minion) const {
  const std::optional<std::size_t> call = position_in(load_.minions, minion);
  const MutexLock lock(mutex_);
  return call && calls_[*call].state != State::finished;
}

std::vector<std::string> RunningJob::running() const {
  std::vector<std::string> running;
  const MutexLock lock(mutex_);
  for (std::size_t call = 0; call < calls_.size(); ++call) {
    if (calls_[call].state != State::finished) running.push_back(load_.minions[call]);
  }
  return running;
}

bool RunningJob::stop_on(std::string_view minion) {
  if (!runs_on(minion)) return false;
  stop(*position_in(load_.minions, minion));
  return true;
}

std::size_t RunningJob::interrupt() {
  std::size_t interrupted = 0;
  for (std::size_t call = 0; call < load_.minions.size(); ++call) {
    if (!claim(call)) continue;
    interrupt_(load_, call);
    ++interrupted;
  }
  return interrupted;
}

Jobs::Jobs(std::unique_ptr<returner::Returners> returners, const std::shared_ptr<store::Store>& store,
           const Clock& clock, const Options& options, std::shared_ptr<Announcer> announcer,
           master::JidReserve reserve_jids)
    : returners_(std::move(returners)),
      clock_(clock),
      master_id_(host_name() + "_master"),
      announcer_(announcer ? std::move(announcer)
                           : std::make_shared<Announcer>(std::make_shared<master::EventLog>(clock), clock)),
      max_queued_bytes_(options.max_queued_bytes),
      table_(store),
      jids_(clock, std::move(reserve_jids), options.jid_share) {
  static_cast<void>(running_elsewhere());
  kill_watch_ = store->every_second([this] {
    execute_kill_requests();
    retry_unsettled();
  });
}

Result<std::string> Jobs::claim_jid(std::string_view chosen) {
  if (chosen.empty()) return new_jid();
  // Refuses a jid from the future. Also refuses a jid from the last two seconds, because another process may
  // have made the same jid and not yet saved it.
  const std::string latest = jid_at(clock_.wall() - std::chrono::seconds(2));
  if (chosen > latest) {
    return Error{ErrorKind::invocation,
                 format("The jid {} is too new: expected a time in the past, at most {}.", chosen, latest)};
  }
  const Result<bool> is_free = cache().prep_jid(chosen);
  if (!is_free) return is_free.error();
  if (*is_free) return std::string(chosen);
  return Error{ErrorKind::invocation, format("The jid {} is already used by an earlier job.", chosen)};
}

Result<void> Jobs::check_returners(std::string_view ret) const {
  for (const std::string_view name : split_names(ret)) {
    if (returners_->find(name) != nullptr) continue;
    return Error{ErrorKind::invocation, format("'ret': unknown returner {}; returners: {}.",
                                               quoted_excerpt(name), joined(returners_->names()))};
  }
  return {};
}

Jobs::ExtraReturners Jobs::extra_returners(std::string_view ret) const {
  std::vector<returner::Returner*> named = returners_->ext_job_caches();
  for (const std::string_view name : split_names(ret)) named.push_back(returners_->find(name));
  ExtraReturners extra;
  for (returner::Returner* one : named) {
    const bool is_known = std::find(extra.begin(), extra.end(), one) != extra.end();
    if (one != nullptr && one != &cache() && !is_known) extra.push_back(one);
  }
  return extra;
}

void Jobs::note(WriteCounts::What what, std::string_view jid, const Result<void>& saved) const {
  returners_->writes().note(what, saved);
  log_failure(saved, what == WriteCounts::What::job ? "the load" : "a return", jid);
}

template <class Write>
void Jobs::write_to_all(const ExtraReturners& extra, WriteCounts::What what, std::string_view jid,
                        const Write& write) {
  note(what, jid, write(cache()));
  for (returner::Returner* one : extra) note(what, jid, write(*one));
}

Result<void> Jobs::save(const returner::Load& load, returner::Durability durability,
                        const ExtraReturners& extra) {
  const Result<void> saved = cache().save_load(load, durability);
  note(WriteCounts::What::job, load.jid, saved);
  if (!saved && durability == returner::Durability::durable) return not_started(saved.error());
  for (returner::Returner* one : extra) {
    note(WriteCounts::What::job, load.jid, one->save_load(load, returner::Durability::committed));
  }
  return {};
}

void Jobs::announce(const returner::Load& load, const std::vector<std::string>& missing) const {
  if (is_master_call(load)) {
    announcer_->master_new(load, InJobCache::yes);
  } else {
    announcer_->job_new(load, missing);
  }
}

void Jobs::add_job(const returner::Load& load, const std::vector<master::Return>& returns,
                   const ExtraReturners& extra, const std::vector<std::string>& missing) {
  std::vector<returner::ReturnView> views;
  views.reserve(returns.size());
  for (const master::Return& ret : returns) {
    views.push_back({ret.minion, ret.ret.text(), ret.retcode, ret.success, ret.out});
  }
  write_to_all(extra, WriteCounts::What::job, load.jid,
               [&](returner::Returner& to) { return to.save_job(load, views); });
  announce(load, missing);
  for (const master::Return& ret : returns) announcer_->job_ret(load, ret);
}

void Jobs::save_return(std::string_view jid, const master::Return& ret, const ExtraReturners& extra) {
  const returner::JobReturn saved{ret.minion, ret.ret, ret.retcode, ret.success, ret.out};
  write_to_all(extra, WriteCounts::What::one_return, jid,
               [&](returner::Returner& to) { return to.returner(jid, saved); });
}

void Jobs::add_return(const returner::Load& load, const master::Return& ret, const ExtraReturners& extra) {
  save_return(load.jid, ret, extra);
  announcer_->job_ret(load, ret);
}

Result<void> Jobs::start(const std::shared_ptr<RunningJob>& job, returner::Durability durability,
                         const ExtraReturners& extra) {
  const returner::Load& load = job->load();
  const std::size_t bytes = bytes_of(load);
  if (queued_bytes_.fetch_add(bytes) + bytes > max_queued_bytes_) {
    queued_bytes_ -= bytes;
    return Error{ErrorKind::unavailable, "The running and waiting jobs are too large. Try again later."};
  }
  // The job is added to the table before it runs. If this process is killed, another process finds the job in
  // the table and records the end of the job.
  const Result<void> added = table_.add(load, job->ret());
  const bool is_refused = !added && durability == returner::Durability::durable;
  Result<void> saved = is_refused ? not_started(added.error()) : save(load, durability, extra);
  if (!saved) {
    table_.remove(load.jid);
    queued_bytes_ -= bytes;
    return saved;
  }
  const MutexLock lock(mutex_);
  running_.emplace(load.jid, job);
  return {};
}

void Jobs::finish(RunningJob& job, std::size_t call) {
  if (!job.finish(call)) return;
  queued_bytes_ -= bytes_of(job.load());
  {
    const MutexLock lock(mutex_);
    running_.erase(job.load().jid);
  }
  table_.remove(job.load().jid);
}

std::size_t Jobs::interrupt_all() {
  decltype(running_) all;
  {
    const MutexLock lock(mutex_);
    all.swap(running_);
  }
  std::size_t interrupted = 0;
  for (const auto& [jid, job] : all) {
    interrupted += job->interrupt();
    table_.remove(jid);
  }
  return interrupted;
}

std::shared_ptr<RunningJob> Jobs::find_running(std::string_view jid) const {
  const MutexLock lock(mutex_);
  const auto found = running_.find(jid);
  return found == running_.end() ? nullptr : found->second;
}

std::vector<RunningTable::Entry> Jobs::running_elsewhere() {
  std::vector<RunningTable::Entry> entries = table_.others();
  has_unsettled_ = false;
  for (const RunningTable::Entry& entry : entries) {
    if (!entry.is_gone) continue;
    const Result<void> settled = settle(entry);
    log_failure(settled, format("the end of process {}", entry.job.pid), entry.job.load.jid);
    // If the job cache cannot be read, the loop over the jobs stops, because each further read may take
    // seconds.
    has_unsettled_ = has_unsettled_ || !settled;
    if (!settled) break;
  }
  std::erase_if(entries, [](const RunningTable::Entry& entry) { return entry.is_gone; });
  return entries;
}

/// Removes the job of an ended process from the table. Records an interrupted return for each minion without
/// a return. After an error the job stays in the table.
Result<void> Jobs::settle(const RunningTable::Entry& orphan) {
  const Result<std::optional<returner::Load>> saved = cache().get_load(orphan.job.load.jid);
  if (!saved) return saved.error();
  const Result<bool> is_removed_here = table_.drop(orphan);
  if (!is_removed_here) return is_removed_here.error();
  if (*is_removed_here) record_orphan(orphan.job, saved->has_value());
  return {};
}

void Jobs::record_orphan(const ActiveJob& orphan, bool is_saved) {
  const returner::Load& load = orphan.load;
  const ExtraReturners extra = extra_returners(orphan.ret);
  if (!is_saved) {
    static_cast<void>(save(load, returner::Durability::durable, extra));  // `save` logs a failure.
    announce(load, {});
  }
  const Result<std::vector<std::string>> found = minions_without_return(load);
  const std::vector<std::string>& missing = found ? *found : load.minions;
  for (const std::string& minion : missing) {
    // The ended process may have left the real return in etcd's outbox, which delivers it later. The real
    // return then replaces this return, which is marked as a placeholder.
    const returner::JobReturn ret{minion, orphaned_return(load), 1, false, "", true};
    write_to_all(extra, WriteCounts::What::one_return, load.jid,
                 [&](returner::Returner& to) { return to.returner(load.jid, ret); });
    if (is_master_call(load)) {
      announcer_->master_ret(load, Json::string(kOrphaned), false, InJobCache::yes);
    } else {
      announcer_->job_ret(load, {minion, Json::string(kOrphaned), 1, false, ""});
    }
  }
  if (missing.empty()) return;
  log::warning(format("job {} was interrupted: its process {} is gone, and {} of its {} returns are missing",
                      load.jid, orphan.pid, missing.size(), load.minions.size()));
}

Json Jobs::orphaned_return(const returner::Load& load) const {
  if (!is_master_call(load)) return Json::string(kOrphaned);
  // For a runner or wheel, the job cache stores the event's whole data. Its member `return` is the function's
  // return.
  return written_object([&](JsonWriter& writer) {
    writer.key("fun").json(load.fun).key("jid").string(load.jid);
    writer.key("user").string(load.user).key("fun_args").json(load.arg);
    writer.key("_stamp").string(iso_stamp(clock_.wall())).key("return").string(kOrphaned);
    writer.key("success").boolean(false);
  });
}

Result<std::vector<std::string>> Jobs::minions_without_return(const returner::Load& load) const {
  const Result<std::vector<returner::JobReturn>> returns = cache().get_jid(load.jid);
  if (!returns) return returns.error();
  return without_return(load, *returns);
}

std::vector<ActiveJob> Jobs::active() {
  std::vector<ActiveJob> jobs;
  {
    const MutexLock lock(mutex_);
    for (const auto& [jid, job] : running_) {
      jobs.push_back({::getpid(), job->load(), job->ret(), job->running()});
    }
  }
  for (RunningTable::Entry& entry : running_elsewhere()) {
    ActiveJob& job = jobs.emplace_back(std::move(entry.job));
    // The process that runs the job saves its returns in the shared job cache. Minions that have not returned
    // still run the job.
    auto running = minions_without_return(job.load);
    job.running = running ? *std::move(running) : job.load.minions;
  }
  std::sort(jobs.begin(), jobs.end(),
            [](const ActiveJob& a, const ActiveJob& b) { return a.load.jid < b.load.jid; });
  return jobs;
}

Result<std::optional<pid_t>> Jobs::stop(std::string_view jid, std::string_view minion) {
  if (const auto job = find_running(jid); job && job->stop_on(minion)) {
    return std::optional<pid_t>(::getpid());
  }
  for (const RunningTable::Entry& entry : running_elsewhere()) {
    if (entry.job.load.jid != jid || !position_in(entry.job.load.minions, minion)) continue;
    if (Result<void> requested = table_.request_kill(jid, minion); !requested) {
      return std::move(requested).error();
    }
    return std::optional<pid_t>(entry.job.pid);
  }
  return std::optional<pid_t>();
}

/// Records the ends of jobs again that could not be recorded, for example because etcd was away. Uses an own
/// thread, because a job cache may take seconds to answer.
void Jobs::retry_unsettled() {
  constexpr std::chrono::seconds kPause{5};
  const SteadyTime now = system_clock().steady();
  if (!has_unsettled_ || is_settling_ || now - settled_at_ < kPause) return;
  settled_at_ = now;
  is_settling_ = true;
  auto thread = Thread::start("settle", [this] {
    static_cast<void>(running_elsewhere());
    is_settling_ = false;
  });
  if (!thread) is_settling_ = false;
  settler_ = thread ? *std::move(thread) : Thread();
}

void Jobs::execute_kill_requests() {
  {
    const MutexLock lock(mutex_);
    if (running_.empty()) return;
  }
  for (const RunningTable::KillRequest& request : table_.kill_requests()) {
    if (const auto job = find_running(request.jid)) job->stop_on(request.minion);
  }
}

}  // namespace rest_fcgi::embedded

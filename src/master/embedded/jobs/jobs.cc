// SPDX-License-Identifier: MIT
#include "master/embedded/jobs/jobs.h"

#include <unistd.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "master/embedded/events/job_events.h"
#include "master/embedded/host/grains.h"
#include "master/embedded/target/target.h"
#include "master/embedded/text.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::embedded {

namespace {

/// What counts for `max_queued_bytes`: the JSON text alone. The job's own copies of it, as text and parsed,
/// are about four times that.
std::size_t bytes_of(const returner::Load& load) {
  const std::size_t metadata = load.metadata ? load.metadata->text().size() : 0;
  return load.fun.text().size() + load.arg.text().size() + load.tgt.text().size() + metadata;
}

/// Returns the minion's place in the sorted list; absent if it is not there.
std::optional<std::size_t> position_in(const std::vector<std::string>& minions, std::string_view minion) {
  const auto found = std::lower_bound(minions.begin(), minions.end(), minion);
  if (found == minions.end() || *found != minion) return std::nullopt;
  return static_cast<std::size_t>(found - minions.begin());
}

/// The store and etcd's outbox log at the level error, once, that they cannot be written.
void log_failure(const Result<void>& kept, std::string_view what, std::string_view jid) {
  if (!kept) log::debug(format("{} of job {} is not kept: {}", what, jid, kept.error().message));
}

Error not_started(const Error& why) {
  return {ErrorKind::unavailable, format("The job cannot be kept, and was not started: {}", why.message)};
}

}  // namespace

bool pause(std::chrono::duration<double> length, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any nobody_notifies;
  std::unique_lock lock(mutex);
  nobody_notifies.wait_for(lock, stop, length, [] { return false; });
  return !stop.stop_requested();
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

bool RunningJob::runs_on(std::string_view minion) const {
  const std::optional<std::size_t> call = position_in(load_.minions, minion);
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
      announcer_(announcer ? std::move(announcer) : std::make_shared<Announcer>(nullptr, clock)),
      max_queued_bytes_(options.max_queued_bytes),
      table_(store),
      jids_(clock, std::move(reserve_jids), options.jid_share) {
  static_cast<void>(others());
  kill_watch_ = store->every_second([this] { obey_kill_requests(); });
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
  for (const std::string_view name : target::split_names(ret)) {
    if (returners_->find(name) != nullptr) continue;
    return Error{ErrorKind::invocation, format("'ret' names the returner {}; those here are {}.",
                                               quoted(name), joined(returners_->names()))};
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
  for (const std::string_view name : target::split_names(ret)) add(returners_->find(name));
  return also;
}

Result<void> Jobs::save(const returner::Load& load, returner::Durability durability, const Also& also) {
  const Result<void> saved = cache().save_load(load, durability);
  if (!saved && durability == returner::Durability::durable) return not_started(saved.error());
  log_failure(saved, "the load", load.jid);
  for (returner::Returner* one : also) {
    log_failure(one->save_load(load, returner::Durability::committed), "the load", load.jid);
  }
  return {};
}

void Jobs::announce(const returner::Load& load, const std::vector<std::string>& missing) const {
  if (is_master_call(load)) {
    announcer_->master_new(load, Kept::yes);
  } else {
    announcer_->job_new(load, missing);
  }
}

void Jobs::keep(const returner::Load& load, const std::vector<master::Return>& returns, const Also& also,
                const std::vector<std::string>& missing) {
  std::vector<returner::ReturnView> views;
  views.reserve(returns.size());
  for (const master::Return& ret : returns) {
    views.push_back({ret.minion, ret.ret.text(), ret.retcode, ret.success, ret.out});
  }
  log_failure(cache().save_job(load, views), "all", load.jid);
  for (returner::Returner* one : also) log_failure(one->save_job(load, views), "all", load.jid);
  announce(load, missing);
  for (const master::Return& ret : returns) announcer_->job_ret(load, ret);
}

void Jobs::record(std::string_view jid, const master::Return& ret, const Also& also) {
  const returner::JobReturn kept{ret.minion, ret.ret, ret.retcode, ret.success, ret.out};
  log_failure(cache().returner(jid, kept), "a return", jid);
  for (returner::Returner* one : also) log_failure(one->returner(jid, kept), "a return", jid);
}

void Jobs::returned(const returner::Load& load, const master::Return& ret, const Also& also) {
  record(load.jid, ret, also);
  announcer_->job_ret(load, ret);
}

Result<void> Jobs::start(const std::shared_ptr<RunningJob>& job, returner::Durability durability,
                         const Also& also) {
  const returner::Load& load = job->load();
  const std::size_t bytes = bytes_of(load);
  if (queued_bytes_.fetch_add(bytes) + bytes > max_queued_bytes_) {
    queued_bytes_ -= bytes;
    return Error{ErrorKind::unavailable,
                 "The jobs that run or wait take all the memory that they may (max_queued_bytes)."};
  }
  // Before the job is kept: if this process is killed, another one finds the job here and settles it.
  const Result<void> added = table_.add(load, job->ret());
  const bool is_refused = !added && durability == returner::Durability::durable;
  Result<void> saved = is_refused ? not_started(added.error()) : save(load, durability, also);
  if (!saved) {
    table_.remove(load.jid);
    queued_bytes_ -= bytes;
    return saved;
  }
  const std::lock_guard lock(mutex_);
  running_.emplace(load.jid, job);
  return {};
}

void Jobs::finish(RunningJob& job, std::size_t call) {
  if (!job.finish(call)) return;
  queued_bytes_ -= bytes_of(job.load());
  {
    const std::lock_guard lock(mutex_);
    running_.erase(job.load().jid);
  }
  table_.remove(job.load().jid);
}

std::size_t Jobs::interrupt_all() {
  decltype(running_) all;
  {
    const std::lock_guard lock(mutex_);
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
  const std::lock_guard lock(mutex_);
  const auto found = running_.find(jid);
  return found == running_.end() ? nullptr : found->second;
}

Json describe_running(pid_t pid, const returner::Load& load, std::string_view ret) {
  return written_object([&](JsonWriter& writer) {
    writer.key("pid").integer(pid).key("fun").json(load.fun).key("arg").json(load.arg);
    writer.key("tgt").json(load.tgt).key("jid").string(load.jid).key("ret").string(ret);
    writer.key("tgt_type").string(load.tgt_type).key("user").string(load.user);
  });
}

std::vector<RunningTable::Entry> Jobs::others() {
  std::vector<RunningTable::Entry> entries = table_.others();
  for (const RunningTable::Entry& entry : entries) {
    if (!entry.is_gone) continue;
    const Result<void> settled = settle(entry);
    log_failure(settled, format("the end of process {}", entry.job.pid), entry.job.load.jid);
    // A job cache that cannot be read now is not asked for each job: each try may take seconds.
    if (!settled) break;
  }
  std::erase_if(entries, [](const RunningTable::Entry& entry) { return entry.is_gone; });
  return entries;
}

Result<void> Jobs::settle(const RunningTable::Entry& orphan) {
  const Result<std::optional<returner::Load>> kept = cache().get_load(orphan.job.load.jid);
  if (!kept) return kept.error();
  // Of several processes that find it, one removes it.
  const Result<bool> dropped = table_.drop(orphan);
  if (!dropped) return dropped.error();
  if (*dropped) record_orphan(orphan.job, kept->has_value());
  return {};
}

/// A return that the dead process sent to the job cache stays, whether it comes there before or after this.
void Jobs::record_orphan(const ActiveJob& orphan, bool is_kept) {
  const returner::Load& load = orphan.load;
  const Also also = also_for(orphan.ret);
  if (!is_kept) {
    log_failure(save(load, returner::Durability::durable, also), "the load", load.jid);
    announce(load, {});
  }
  const Result<std::vector<std::string>> found_missing = missing_in(load);
  const std::vector<std::string>& missing = found_missing ? *found_missing : load.minions;
  for (const std::string& minion : missing) {
    const returner::JobReturn ret{minion, orphaned_return(load), 1, false, "", true};
    log_failure(cache().returner(load.jid, ret), "a return", load.jid);
    for (returner::Returner* one : also) log_failure(one->returner(load.jid, ret), "a return", load.jid);
    if (is_master_call(load)) {
      announcer_->master_ret(load, Json::string(kOrphaned), false, Kept::yes);
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
  // Runners and wheels return their whole event.
  return written_object([&](JsonWriter& writer) {
    writer.key("fun").json(load.fun).key("jid").string(load.jid);
    writer.key("user").string(load.user).key("fun_args").json(load.arg);
    writer.key("_stamp").string(master::iso_stamp(clock_.wall())).key("return").string(kOrphaned);
    writer.key("success").boolean(false);
  });
}

Result<std::vector<std::string>> Jobs::missing_in(const returner::Load& load) const {
  const Result<std::vector<returner::JobReturn>> returns = cache().get_jid(load.jid);
  if (!returns) return returns.error();
  return without_return(load, *returns);
}

std::vector<ActiveJob> Jobs::active() {
  std::vector<ActiveJob> jobs;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [jid, job] : running_) {
      jobs.push_back({::getpid(), job->load(), job->ret(), job->running()});
    }
  }
  for (RunningTable::Entry& entry : others()) {
    ActiveJob& job = jobs.emplace_back(std::move(entry.job));
    // Which minions returned stands in the job cache, where both processes share it.
    auto running = missing_in(job.load);
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
  for (const RunningTable::Entry& entry : others()) {
    if (entry.job.load.jid != jid || !position_in(entry.job.load.minions, minion)) continue;
    if (Result<void> requested = table_.request_kill(jid, minion); !requested) {
      return std::move(requested).error();
    }
    return std::optional<pid_t>(entry.job.pid);
  }
  return std::optional<pid_t>();
}

void Jobs::obey_kill_requests() {
  {
    const std::lock_guard lock(mutex_);
    if (running_.empty()) return;
  }
  for (const RunningTable::KillRequest& request : table_.kill_requests()) {
    if (const auto job = find_running(request.jid)) job->stop_on(request.minion);
  }
}

}  // namespace rest_fcgi::embedded

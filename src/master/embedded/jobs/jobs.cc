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

constexpr std::chrono::milliseconds kPause{500};  // between two looks for marks

/// What counts for `max_queued_bytes`: the JSON text alone. The job's own copies of it, as text and parsed,
/// are about four times that.
std::size_t bytes_of(const returner::Load& load) {
  const std::size_t metadata = load.metadata ? load.metadata->text().size() : 0;
  return load.fun.text().size() + load.arg.text().size() + load.tgt.text().size() + metadata;
}

/// Where the minion stands in the sorted list; absent where it is not there.
std::optional<std::size_t> position_in(const std::vector<std::string>& minions, std::string_view minion) {
  const auto found = std::lower_bound(minions.begin(), minions.end(), minion);
  if (found == minions.end() || *found != minion) return std::nullopt;
  return static_cast<std::size_t>(found - minions.begin());
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

Jobs::Jobs(std::unique_ptr<returner::Returners> returners, const Clock& clock, std::unique_ptr<ProcDir> proc,
           std::size_t max_queued_bytes, master::JidShare jid_share, std::shared_ptr<Announcer> announcer)
    : returners_(std::move(returners)),
      clock_(clock),
      master_id_(host_name() + "_master"),
      proc_(std::move(proc)),
      announcer_(announcer ? std::move(announcer) : std::make_shared<Announcer>(nullptr, clock)),
      max_queued_bytes_(max_queued_bytes),
      jids_(clock, master::JidSource::default_name(), jid_share) {
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
  // Before it is kept: of a job that somebody may hear of, a trace is left whenever the process is killed.
  if (proc_) {
    if (const Result<void> shown = proc_->add(load, job->ret()); !shown) {
      log::warning(format("job {} is not shown to other processes: {}", load.jid, shown.error().message));
    }
  }
  if (Result<void> saved = save(load, durability, also); !saved) {
    if (proc_) proc_->remove(load.jid);
    queued_bytes_ -= bytes;
    return saved;
  }
  const std::lock_guard lock(mutex_);
  running_.emplace(load.jid, job);
  started_.notify_one();
  if (!proc_ || watcher_.joinable()) return {};
  if (auto started = Thread::start("job-marks", [this] { watch(ending_.get_token()); })) {
    watcher_ = *std::move(started);
  } else {
    log::warning(format("jobs cannot be stopped by other processes: {}", started.error().message));
  }
  return {};
}

void Jobs::finish(RunningJob& job, std::size_t call) {
  if (!job.finish(call)) return;
  queued_bytes_ -= bytes_of(job.load());
  {
    const std::lock_guard lock(mutex_);
    running_.erase(job.load().jid);
  }
  if (proc_) proc_->remove(job.load().jid);
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
    if (proc_) proc_->remove(jid);
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

std::vector<ProcDir::Entry> Jobs::others() {
  if (!proc_) return {};
  std::vector<ProcDir::Entry> entries = proc_->others();
  // A job cache that cannot be read now is not asked for each job: each try may take seconds.
  bool is_readable = true;
  for (const ProcDir::Entry& entry : entries) {
    if (entry.is_gone && is_readable) is_readable = settle(entry);
  }
  std::erase_if(entries, [](const ProcDir::Entry& entry) { return entry.is_gone; });
  return entries;
}

/// Several processes may do so at the same time: they record the same, and the one that removes the file
/// announces it. A return that the dead process left behind may come to the job cache before or after that,
/// and stays.
bool Jobs::settle(const ProcDir::Entry& orphan) {
  if (!proc_->has(orphan)) return true;  // another process has settled it meanwhile
  const returner::Load& load = orphan.job.load;
  const Result<std::vector<std::string>> recorded = record_orphan(orphan.job);
  if (!recorded) {  // It is tried again by whoever looks next.
    log_failure(recorded.error(), format("the end of process {}", orphan.job.pid), load.jid);
    return false;
  }
  if (!proc_->drop(orphan)) return true;
  for (const std::string& minion : *recorded) {
    if (is_master_call(load)) {
      announcer_->master_ret(load, Json::string(kOrphaned), false, Kept::yes);
    } else {
      announcer_->job_ret(load, {minion, Json::string(kOrphaned), 1, false, ""});
    }
  }
  return true;
}

Result<std::vector<std::string>> Jobs::record_orphan(const ActiveJob& orphan) {
  const std::string& jid = orphan.load.jid;
  Result<std::optional<returner::Load>> kept = cache().get_load(jid);
  if (!kept) return std::move(kept).error();
  const bool is_kept = kept->has_value();
  const returner::Load load = is_kept ? **std::move(kept) : orphan.load;
  const Also also = also_for(orphan.ret);
  if (!is_kept && !load.minions.empty()) {
    if (Result<void> saved = save(load, returner::Durability::durable, also); !saved) {
      return std::move(saved).error();
    }
    announce(load, {});
  }
  Result<std::vector<std::string>> missing = missing_in(load);
  if (!missing) return missing;
  for (const std::string& minion : *missing) {
    const returner::JobReturn ret{minion, orphaned_return(load), 1, false, "", true};
    if (Result<void> recorded = cache().returner(jid, ret); !recorded) return std::move(recorded).error();
    for (returner::Returner* one : also) log_failure(one->returner(jid, ret), "a return", jid);
  }
  if (missing->empty()) return missing;
  log::warning(format("job {} was interrupted: its process {} is gone, and {} of its {} returns are missing",
                      jid, orphan.pid, missing->size(), load.minions.size()));
  return missing;
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
  for (ProcDir::Entry& entry : others()) {
    ActiveJob& job = jobs.emplace_back(std::move(entry.job));
    // The other process's file does not tell which minions returned; where both share a job cache, that does.
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
  for (const ProcDir::Entry& entry : others()) {
    if (entry.job.load.jid != jid) continue;
    const std::optional<std::size_t> call = position_in(entry.job.load.minions, minion);
    if (!call) continue;
    Result<void> marked = proc_->mark(entry, *call);
    if (!marked) return std::move(marked).error();
    return std::optional<pid_t>(entry.job.pid);
  }
  return std::optional<pid_t>();
}

void Jobs::watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    started_.wait(lock, stop, [this] { return !running_.empty(); });
    started_.wait_for(lock, stop, kPause, [] { return false; });
    if (stop.stop_requested()) return;
    lock.unlock();
    for (const ProcDir::Mark& mark : proc_->take_marks()) {
      const auto job = find_running(mark.jid);
      if (job && mark.call < job->load().minions.size()) job->stop(mark.call);
    }
    lock.lock();
  }
}

}  // namespace rest_fcgi::embedded

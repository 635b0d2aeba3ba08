// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "master/embedded/jobs/proc_dir.h"
#include "master/embedded/jobs/running_jobs.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/jid.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/returner/returners.h"

namespace rest_fcgi::embedded {

/// What a call returns that had not ended when the engine shut down.
inline constexpr std::string_view kInterrupted = "Job interrupted: the engine shut down before it ended.";

/// What stands as the return of a call whose process ended, or was killed, before it did.
inline constexpr std::string_view kOrphaned = "Job interrupted: the process that ran it is gone.";

/// What a call returns that was asked to stop.
inline constexpr std::string_view kTerminated = "Job terminated: it was asked to stop before it ended.";

/// Salt's words for a job that runs: what `saltutil.running` lists.
[[nodiscard]] Json describe_running(pid_t pid, const returner::Load& load, std::string_view ret);

/// A thread that looks after something twice a second for as long as there is something to look after. It
/// starts with the first need, and sleeps between needs. Thread-safe.
class Watcher {
 public:
  /// Returns whether it has to be called again. Throws nothing.
  using Look = std::function<bool()>;

  explicit Watcher(Look look) : look_(std::move(look)) {}

  /// Ends the thread, and waits for it. Nobody may call `wake` any more.
  ~Watcher() = default;
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// There is something to look after. Where no thread can be had, the log says so.
  void wake();

 private:
  void run(const std::stop_token& stop);

  const Look look_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool awake_ = false;   // guarded by mutex_
  std::jthread thread_;  // guarded by mutex_; goes first, as the thread uses the rest
};

/// All jobs of this process: their ids, what is kept about them, and which of them run; and, through the proc
/// directory, what other processes run. Shared by the runtime, the masters, and the tasks on worker threads.
/// Thread-safe.
class Jobs {
 public:
  /// Returners that get a job as well as the job cache does. Lives as long as the Jobs.
  using Also = std::vector<returner::Returner*>;

  /// `proc`: null shows this process's jobs to nobody, and sees nobody's. What processes that have gone left
  /// there is settled at once.
  Jobs(std::unique_ptr<returner::Returners> returners, const Clock& clock, std::unique_ptr<ProcDir> proc,
       std::size_t max_queued_bytes, master::JidShare jid_share = {});

  [[nodiscard]] std::string new_jid() { return jids_.next(); }

  /// A jid for a job: the caller's own one, or, where that is empty, a new one.
  /// Errors: invocation where a chosen jid is taken or not of the past; those of the job cache.
  [[nodiscard]] Result<std::string> claim_jid(std::string_view chosen);

  /// Are all returners there that `ret` names, with commas between them? Errors: invocation, naming those
  /// that are.
  [[nodiscard]] Result<void> check_returners(std::string_view ret) const;

  /// Those of Salt's `ext_job_cache`, and those that `ret` names.
  [[nodiscard]] Also also_for(std::string_view ret) const;

  /// Keeps a job that has its jid. Errors: unavailable, for what has to be durable and is not; else a failure
  /// stands in the log, and so does any of `also`.
  Result<void> save(const returner::Load& load, returner::Durability durability, const Also& also);

  /// Keeps a return. Failures stand in the log: the return itself was delivered.
  void record(std::string_view jid, const master::Return& ret, const Also& also);

  /// Keeps a job whose calls are about to go to worker threads, and shows it. Errors: unavailable where jobs
  /// that run or wait take too much memory already; else as of `save`; it must not run then.
  Result<void> start(const std::shared_ptr<RunningJob>& job, returner::Durability durability,
                     const Also& also);

  /// The return of that call is recorded.
  void finish(RunningJob& job, std::size_t call);

  /// Interrupts all calls that did not return, and forgets their jobs. Returns how many calls that were.
  std::size_t interrupt_all();

  /// What runs here and in other processes, in the order of the jids. Settles what has gone with its process.
  [[nodiscard]] std::vector<ActiveJob> active();

  /// Asks a job to stop on one minion, here or in another process, where it takes notice within a second.
  /// Returns the process; absent where no such job runs there. Errors: internal, with the cause.
  [[nodiscard]] Result<std::optional<pid_t>> stop(std::string_view jid, std::string_view minion);

  [[nodiscard]] returner::Returner& cache() const noexcept { return returners_->master_job_cache(); }
  [[nodiscard]] const returner::Returners& returners() const noexcept { return *returners_; }
  [[nodiscard]] const RunningJobs& running() const noexcept { return running_; }
  [[nodiscard]] const Clock& clock() const noexcept { return clock_; }

  /// The id under which runners and wheels return, as a master's own minion does.
  [[nodiscard]] const std::string& master_id() const noexcept { return master_id_; }

 private:
  /// Those of other processes that still run. What the others left is settled.
  [[nodiscard]] std::vector<ProcDir::Entry> others();
  void settle(const ProcDir::Entry& orphan);
  [[nodiscard]] Result<void> record_orphan(const ActiveJob& orphan);
  [[nodiscard]] Json orphaned_return(const returner::Load& load) const;
  /// The job's minions of which no return is kept.
  [[nodiscard]] Result<std::vector<std::string>> without_return(const returner::Load& load) const;
  bool heed_marks();
  void log_failure(const Result<void>& kept, std::string_view what, std::string_view jid);

  const std::unique_ptr<returner::Returners> returners_;
  const Clock& clock_;
  const std::string master_id_;
  const std::unique_ptr<ProcDir> proc_;  // null: none
  RunningJobs running_;
  master::JidSource jids_;
  std::atomic<bool> failing_{false};  // a failure of the job cache stands in the log, and no success since
  Watcher watcher_;                   // goes first, as its thread uses the rest
};

}  // namespace rest_fcgi::embedded

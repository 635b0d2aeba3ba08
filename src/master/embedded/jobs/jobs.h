// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "master/embedded/events/announcer.h"
#include "master/embedded/jobs/proc_dir.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/thread.h"
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

/// Waits that long; false where `stop` was requested meanwhile.
[[nodiscard]] bool pause(std::chrono::duration<double> length, const std::stop_token& stop);

/// Salt's words for a job that runs: what `saltutil.running` lists.
[[nodiscard]] Json describe_running(pid_t pid, const returner::Load& load, std::string_view ret);

/// The job's minions of which there is none of these returns.
[[nodiscard]] std::vector<std::string> without_return(const returner::Load& load,
                                                      const std::vector<returner::JobReturn>& returns);

/// A job whose calls, one for each of the load's minions, are on worker threads. Shared by those threads and
/// by who asks what runs. Thread-safe.
class RunningJob {
 public:
  /// Records that a call was interrupted; called at most once for each, and never together with that call's
  /// return.
  using Interrupt = std::function<void(const returner::Load& load, std::size_t call)>;

  /// `ret`: the returners that the caller named. REQUIRES: the load's minions are sorted.
  RunningJob(returner::Load load, std::string ret, Interrupt interrupt);

  [[nodiscard]] const returner::Load& load() const noexcept { return load_; }
  [[nodiscard]] const std::string& ret() const noexcept { return ret_; }

  /// Whoever wants to record what became of a call asks first. True for the first one alone: a call that was
  /// interrupted does not return any more.
  [[nodiscard]] bool claim(std::size_t call);

  /// The call's return is recorded. True where it was the job's last one.
  [[nodiscard]] bool finish(std::size_t call);

  [[nodiscard]] bool runs_on(std::string_view minion) const;

  /// The minions on which it runs, sorted.
  [[nodiscard]] std::vector<std::string> running() const;

  /// What the function of that call looks at to end early.
  [[nodiscard]] std::stop_token stop_token(std::size_t call) const { return calls_[call].stop.get_token(); }

  /// Asks one call to stop; what it then returns says so.
  void stop(std::size_t call) { calls_[call].stop.request_stop(); }

  /// Same for the call on that minion. False where there is none that runs.
  bool stop_on(std::string_view minion);

  /// Interrupts the calls that nobody claimed so far. Returns how many.
  std::size_t interrupt();

 private:
  enum class State : unsigned char { running, claimed, finished };
  struct Call {
    State state = State::running;  ///< guarded by mutex_
    std::stop_source stop;         ///< synchronizes itself
  };

  const returner::Load load_;
  const std::string ret_;
  const Interrupt interrupt_;
  mutable std::mutex mutex_;
  std::vector<Call> calls_;
  std::size_t unfinished_;  // guarded by mutex_
};

/// All jobs of this process: their ids, what is kept about them, and which of them run; and, through the proc
/// directory, what other processes run. Shared by the runtime, the masters, and the tasks on worker threads.
/// Thread-safe.
class Jobs {
 public:
  /// Returners that get a job as well as the job cache does. Lives as long as the Jobs.
  using Also = std::vector<returner::Returner*>;

  /// `proc`: null shows this process's jobs to nobody, and sees nobody's. What processes that have gone left
  /// there is settled at once. `max_queued_bytes`: of the loads of all jobs that run or wait. `announcer`:
  /// null tells nobody.
  Jobs(std::unique_ptr<returner::Returners> returners, const Clock& clock, std::unique_ptr<ProcDir> proc,
       std::size_t max_queued_bytes, master::JidShare jid_share = {},
       std::shared_ptr<Announcer> announcer = nullptr);

  ~Jobs() { ending_.request_stop(); }
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

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

  /// Tells listeners of a job that is kept. `missing`: ids that its target names and that do not exist.
  void announce(const returner::Load& load, const std::vector<std::string>& missing) const;

  /// Keeps and announces a job that has its jid, and what its first minions returned. Failures stand in the
  /// log.
  void keep(const returner::Load& load, const std::vector<master::Return>& returns, const Also& also,
            const std::vector<std::string>& missing);

  /// Keeps a return. Failures stand in the log: the return itself was delivered.
  void record(std::string_view jid, const master::Return& ret, const Also& also);

  /// Keeps and announces what a minion returned of a job that is kept.
  void returned(const returner::Load& load, const master::Return& ret, const Also& also);

  /// Keeps a job whose calls are about to go to worker threads, and shows it as running; it is not announced
  /// yet. Errors: unavailable where jobs that run or wait take too much memory already; else as of `save`; it
  /// must not run then.
  Result<void> start(const std::shared_ptr<RunningJob>& job, returner::Durability durability,
                     const Also& also);

  /// The return of that call is recorded.
  void finish(RunningJob& job, std::size_t call);

  /// Interrupts all calls that did not return, and forgets their jobs. Returns how many calls that were.
  std::size_t interrupt_all();

  /// A job that has calls on worker threads of this process; null where no such job runs.
  [[nodiscard]] std::shared_ptr<RunningJob> find_running(std::string_view jid) const;

  /// What runs here and in other processes, in the order of the jids. Settles what has gone with its process.
  [[nodiscard]] std::vector<ActiveJob> active();

  /// Asks a job to stop on one minion, here or in another process, where it takes notice within a second.
  /// Returns the process; absent where no such job runs there. Errors: internal, with the cause.
  [[nodiscard]] Result<std::optional<pid_t>> stop(std::string_view jid, std::string_view minion);

  [[nodiscard]] returner::Returner& cache() const noexcept { return returners_->master_job_cache(); }
  [[nodiscard]] const returner::Returners& returners() const noexcept { return *returners_; }
  [[nodiscard]] const Clock& clock() const noexcept { return clock_; }
  [[nodiscard]] Announcer& announcer() const noexcept { return *announcer_; }

  /// The id under which runners and wheels return, as a master's own minion does.
  [[nodiscard]] const std::string& master_id() const noexcept { return master_id_; }

 private:
  /// Those of other processes that still run. What the others left is settled.
  [[nodiscard]] std::vector<ProcDir::Entry> others();
  /// Records the end of an orphaned job. Returns false where the job cache cannot be read.
  bool settle(const ProcDir::Entry& orphan);
  /// Returns the minions whose returns stood out.
  [[nodiscard]] Result<std::vector<std::string>> record_orphan(const ActiveJob& orphan);
  [[nodiscard]] Json orphaned_return(const returner::Load& load) const;
  /// The job's minions of which no return is kept.
  [[nodiscard]] Result<std::vector<std::string>> missing_in(const returner::Load& load) const;
  /// Looks twice a second for calls that other processes want to stop, as long as there are any that run.
  void watch(const std::stop_token& stop);
  void log_failure(const Result<void>& kept, std::string_view what, std::string_view jid);

  const std::unique_ptr<returner::Returners> returners_;
  const Clock& clock_;
  const std::string master_id_;
  const std::unique_ptr<ProcDir> proc_;  // null: none
  const std::shared_ptr<Announcer> announcer_;
  const std::size_t max_queued_bytes_;
  std::atomic<std::size_t> queued_bytes_{0};  // of the loads of all jobs that run or wait
  mutable std::mutex mutex_;
  std::condition_variable_any started_;                                      // a job
  std::map<std::string, std::shared_ptr<RunningJob>, std::less<>> running_;  // by jid; guarded by mutex_
  master::JidSource jids_;
  std::atomic<bool> failing_{false};  // a failure of the job cache stands in the log, and no success since
  std::stop_source ending_;           // asked to stop when this goes
  // Starts with the first job, guarded by mutex_. Goes first, as the thread uses the rest.
  Thread watcher_;
};

}  // namespace rest_fcgi::embedded

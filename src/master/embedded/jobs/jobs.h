// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
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
#include "master/embedded/jobs/running_table.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/embedded/options.h"
#include "rest_fcgi/master/jid.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/returner/returners.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::embedded {

/// What a call returns that had not ended when the engine shut down.
inline constexpr std::string_view kInterrupted = "Job interrupted: the engine shut down before it ended.";

/// The return of a call whose process ended, or was killed, before the call did.
inline constexpr std::string_view kOrphaned = "Job interrupted: the process that ran it is gone.";

/// The return of a call that was asked to stop.
inline constexpr std::string_view kTerminated = "Job terminated: it was asked to stop before it ended.";

/// Waits that long. Returns false if `stop` was requested meanwhile.
[[nodiscard]] bool pause(std::chrono::duration<double> length, const std::stop_token& stop);

/// Returns what `saltutil.running` lists of a job, with Salt's keys.
[[nodiscard]] Json describe_running(pid_t pid, const returner::Load& load, std::string_view ret);

/// Returns the job's minions without a return among these.
[[nodiscard]] std::vector<std::string> without_return(const returner::Load& load,
                                                      const std::vector<returner::JobReturn>& returns);

/// A job whose calls, one for each of the load's minions, are on worker threads. Shared by those threads and
/// by requests that ask what runs. Thread-safe.
class RunningJob {
 public:
  /// Records that a call was interrupted. It is called at most once for each call, and only for calls that
  /// have recorded no return.
  using Interrupt = std::function<void(const returner::Load& load, std::size_t call)>;

  /// `ret`: the returners that the caller named. REQUIRES: the load's minions are sorted.
  RunningJob(returner::Load load, std::string ret, Interrupt interrupt);

  [[nodiscard]] const returner::Load& load() const noexcept { return load_; }
  [[nodiscard]] const std::string& ret() const noexcept { return ret_; }

  /// Claims the right to record the end of a call. Returns true to the first caller alone, so that a call
  /// which was interrupted records no return.
  [[nodiscard]] bool claim(std::size_t call);

  /// Notes that the call's return is recorded. Returns true for the job's last one.
  [[nodiscard]] bool finish(std::size_t call);

  [[nodiscard]] bool runs_on(std::string_view minion) const;

  /// Returns the minions on which it runs, sorted.
  [[nodiscard]] std::vector<std::string> running() const;

  /// Returns what tells the function of that call to end early.
  [[nodiscard]] std::stop_token stop_token(std::size_t call) const { return calls_[call].stop.get_token(); }

  /// Asks one call to stop.
  void stop(std::size_t call) { calls_[call].stop.request_stop(); }

  /// Asks the call on that minion to stop. Returns false if none runs there.
  bool stop_on(std::string_view minion);

  /// Interrupts the calls that are not claimed. Returns how many.
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

/// All jobs of this process: their ids, what is kept about them, and which of them run; and, through the
/// store, what other processes run. Shared by the runtime, the masters, and the tasks on worker threads.
/// Thread-safe.
class Jobs {
 public:
  /// Returners that get a job as well as the job cache does. Lives as long as the Jobs.
  using Also = std::vector<returner::Returner*>;

  /// Settles the jobs of processes that died. `clock` has to outlive it. Without `announcer` no listener
  /// hears of jobs.
  Jobs(std::unique_ptr<returner::Returners> returners, const std::shared_ptr<store::Store>& store,
       const Clock& clock, const Options& options = {}, std::shared_ptr<Announcer> announcer = nullptr,
       master::JidReserve reserve_jids = nullptr);
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  [[nodiscard]] std::string new_jid() { return jids_.next(); }

  /// Returns the jid that the caller chose, or a new one if that is empty. Errors: invocation for a chosen
  /// jid that is taken or not of the past; those of the job cache.
  [[nodiscard]] Result<std::string> claim_jid(std::string_view chosen);

  /// Checks that all returners exist that `ret` names, with commas between them. Errors: invocation, with the
  /// names of those that exist.
  [[nodiscard]] Result<void> check_returners(std::string_view ret) const;

  /// Returns those of Salt's `ext_job_cache` and those that `ret` names.
  [[nodiscard]] Also also_for(std::string_view ret) const;

  /// Keeps a job that has its jid. Errors: unavailable, for a job that has to be durable. Other failures are
  /// no errors: the store or the outbox logs them once.
  Result<void> save(const returner::Load& load, returner::Durability durability, const Also& also);

  /// Tells listeners of a job that is kept. `missing`: ids that its target names and that do not exist.
  void announce(const returner::Load& load, const std::vector<std::string>& missing) const;

  /// Keeps and announces a job that has its jid, and what its first minions returned.
  void keep(const returner::Load& load, const std::vector<master::Return>& returns, const Also& also,
            const std::vector<std::string>& missing);

  /// Keeps a return.
  void record(std::string_view jid, const master::Return& ret, const Also& also);

  /// Keeps and announces what a minion returned of a job that is kept.
  void returned(const returner::Load& load, const master::Return& ret, const Also& also);

  /// Keeps a job whose calls are about to go to worker threads, and adds it to the store's table of running
  /// jobs. It is not announced yet. A job that need not be durable runs also where the store cannot be
  /// written. Errors: unavailable where jobs that run or wait take too much memory already, and for what has
  /// to be durable and is not. It must not run then.
  Result<void> start(const std::shared_ptr<RunningJob>& job, returner::Durability durability,
                     const Also& also);

  /// Notes that the call's return is recorded.
  void finish(RunningJob& job, std::size_t call);

  /// Interrupts all calls that did not return, and forgets their jobs. Returns how many calls that were.
  std::size_t interrupt_all();

  /// Returns a job that has calls on worker threads of this process; null if no such job runs.
  [[nodiscard]] std::shared_ptr<RunningJob> find_running(std::string_view jid) const;

  /// Returns what runs here and in other processes, in the order of the jids. Settles the jobs of processes
  /// that died.
  [[nodiscard]] std::vector<ActiveJob> active();

  /// Asks a job to stop on one minion, here or in another process, which finds the request within a second.
  /// Returns the process; absent where no such job runs there. Errors: unavailable.
  [[nodiscard]] Result<std::optional<pid_t>> stop(std::string_view jid, std::string_view minion);

  [[nodiscard]] returner::Returner& cache() const noexcept { return returners_->master_job_cache(); }
  [[nodiscard]] const returner::Returners& returners() const noexcept { return *returners_; }
  [[nodiscard]] const Clock& clock() const noexcept { return clock_; }
  [[nodiscard]] Announcer& announcer() const noexcept { return *announcer_; }

  /// The id under which runners and wheels return, as a master's own minion does.
  [[nodiscard]] const std::string& master_id() const noexcept { return master_id_; }

 private:
  /// Returns the jobs of other processes that run. Settles those of processes that are gone.
  [[nodiscard]] std::vector<RunningTable::Entry> others();
  /// Removes the job of a process that is gone, and records the returns that are missing as interrupted.
  /// Errors: of the job cache or the store; the job stays for a later try.
  Result<void> settle(const RunningTable::Entry& orphan);
  void record_orphan(const ActiveJob& orphan, bool is_kept);
  [[nodiscard]] Json orphaned_return(const returner::Load& load) const;
  /// Returns the job's minions of which no return is kept.
  [[nodiscard]] Result<std::vector<std::string>> missing_in(const returner::Load& load) const;
  /// Stops the calls that other processes asked to stop.
  void obey_kill_requests();

  const std::unique_ptr<returner::Returners> returners_;
  const Clock& clock_;
  const std::string master_id_;
  const std::shared_ptr<Announcer> announcer_;
  const std::size_t max_queued_bytes_;
  std::atomic<std::size_t> queued_bytes_{0};  // of the loads of all jobs that run or wait
  RunningTable table_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<RunningJob>, std::less<>> running_;  // by jid; guarded by mutex_
  master::JidSource jids_;
  store::Store::Registration kill_watch_;  // ends first
};

}  // namespace rest_fcgi::embedded

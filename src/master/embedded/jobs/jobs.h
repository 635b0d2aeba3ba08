// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "master/embedded/events/announcer.h"
#include "master/embedded/jobs/running_table.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/master/embedded/options.h"
#include "rest_fcgi/master/jid.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/returner/returners.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::embedded {

inline constexpr std::string_view kInterrupted = "Job interrupted: the engine shut down before it ended.";
inline constexpr std::string_view kOrphaned = "Job interrupted: the process that ran it is gone.";
inline constexpr std::string_view kTerminated = "Job terminated: it was asked to stop before it ended.";

/// Waits for the given time, or until a stop request. Returns false after a stop request.
[[nodiscard]] bool pause(std::chrono::duration<double> length, const std::stop_token& stop);

[[nodiscard]] Json describe_running(pid_t pid, const returner::Load& load, std::string_view ret);

[[nodiscard]] std::vector<std::string> without_return(const returner::Load& load,
                                                      const std::vector<returner::JobReturn>& returns);

/// A job that runs on worker threads, with one call for each minion of its load. Thread-safe.
class RunningJob {
 public:
  /// A function that records a return for an interrupted call. The job calls the function at most once for
  /// each call, and only if no thread has claimed the right to record the call's return.
  using Interrupt = std::function<void(const returner::Load& load, std::size_t call)>;

  /// `ret` names the returners that the caller chose. REQUIRES: the load's minions are sorted.
  RunningJob(returner::Load load, std::string ret, Interrupt interrupt);

  [[nodiscard]] const returner::Load& load() const noexcept { return load_; }
  [[nodiscard]] const std::string& ret() const noexcept { return ret_; }

  /// Claims the right to record the return of a call, so that only one return is recorded. Returns false if
  /// the right was already claimed.
  [[nodiscard]] bool claim(std::size_t call);

  /// Marks a call as finished after its return is recorded. Returns true for the last call of the job.
  [[nodiscard]] bool finish(std::size_t call);

  [[nodiscard]] bool runs_on(std::string_view minion) const;

  [[nodiscard]] std::vector<std::string> running() const;

  [[nodiscard]] std::stop_token stop_token(std::size_t call) const { return calls_[call].stop.get_token(); }
  void stop(std::size_t call) { calls_[call].stop.request_stop(); }

  /// Returns false if the job does not run on the minion.
  bool stop_on(std::string_view minion);

  /// Claims each call whose return no thread has claimed, and calls the Interrupt function for it. Returns
  /// the number of these calls.
  std::size_t interrupt();

 private:
  enum class State : unsigned char { running, claimed, finished };
  struct Call {
    State state = State::running;  ///< `mutex_` guards the state of the call.
    std::stop_source stop;
  };

  const returner::Load load_;
  const std::string ret_;
  const Interrupt interrupt_;
  mutable Mutex mutex_;
  std::vector<Call> calls_;
  std::size_t unfinished_ GUARDED_BY(mutex_);
};

/// Makes job ids, saves loads and returns in the job cache, and keeps the running jobs of this process. The
/// store lists the running jobs of all processes. Thread-safe.
class Jobs {
 public:
  /// Returners that get a job in addition to the job cache. The Jobs object owns the returners.
  using ExtraReturners = std::vector<returner::Returner*>;

  /// Records the end of jobs whose processes died. `clock` must outlive the object.
  Jobs(std::unique_ptr<returner::Returners> returners, const std::shared_ptr<store::Store>& store,
       const Clock& clock, const Options& options = {}, std::shared_ptr<Announcer> announcer = nullptr,
       master::JidReserve reserve_jids = nullptr);
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  [[nodiscard]] std::string new_jid() { return jids_.next(); }

  /// Returns `chosen`, or a new jid if `chosen` is empty. Fails with `invocation` if `chosen` is used, is
  /// from the last two seconds, or is in the future. Fails with the errors of the job cache.
  Result<std::string> claim_jid(std::string_view chosen);

  /// Checks the returners in `ret`, separated by commas. Fails with `invocation` for an unknown returner.
  Result<void> check_returners(std::string_view ret) const;

  /// Returns the returners of Salt's `ext_job_cache` and the returners in `ret`.
  [[nodiscard]] ExtraReturners extra_returners(std::string_view ret) const;

  /// Saves a load in the job cache and with the returners in `extra`. With `Durability::durable`, fails with
  /// `unavailable` if the job cache cannot save the load. Logs all other failures and returns success.
  Result<void> save(const returner::Load& load, returner::Durability durability, const ExtraReturners& extra);

  /// Announces a saved job. `missing` lists the ids in the job's target that no minion has.
  void announce(const returner::Load& load, const std::vector<std::string>& missing) const;

  void add_job(const returner::Load& load, const std::vector<master::Return>& returns,
               const ExtraReturners& extra, const std::vector<std::string>& missing);

  void save_return(std::string_view jid, const master::Return& ret, const ExtraReturners& extra);

  void add_return(const returner::Load& load, const master::Return& ret, const ExtraReturners& extra);

  /// Prepares a job that worker threads will run: saves its load in the job cache, and adds the job to the
  /// table of running jobs. Does not announce the job. Fails with `unavailable` if the loads of running and
  /// waiting jobs are too large, or if a durable load cannot be saved. After an error the caller must not run
  /// the job.
  Result<void> start(const std::shared_ptr<RunningJob>& job, returner::Durability durability,
                     const ExtraReturners& extra);

  void finish(RunningJob& job, std::size_t call);

  /// Interrupts and removes all jobs. Returns the number of interrupted calls.
  std::size_t interrupt_all();

  [[nodiscard]] std::shared_ptr<RunningJob> find_running(std::string_view jid) const;

  /// Returns the running jobs of all processes, sorted by jid. Records the end of jobs whose processes died.
  [[nodiscard]] std::vector<ActiveJob> active();

  /// Asks the job to stop on a minion. A job in another process gets the request within a second. Returns the
  /// pid of the job's process, or std::nullopt if the job does not run there. Fails with `unavailable`.
  Result<std::optional<pid_t>> stop(std::string_view jid, std::string_view minion);

  [[nodiscard]] returner::Returner& cache() const noexcept { return returners_->master_job_cache(); }
  [[nodiscard]] const returner::Returners& returners() const noexcept { return *returners_; }
  [[nodiscard]] const Clock& clock() const noexcept { return clock_; }
  [[nodiscard]] Announcer& announcer() const noexcept { return *announcer_; }

  /// Returns the minion id that the jobs of runners and wheels have in the job cache, such as `HOST_master`.
  [[nodiscard]] const std::string& master_id() const noexcept { return master_id_; }

 private:
  using WriteCounts = returner::WriteCounts;

  void note(WriteCounts::What what, std::string_view jid, const Result<void>& saved) const;
  template <class Write>
  void write_to_all(const ExtraReturners& extra, WriteCounts::What what, std::string_view jid,
                    const Write& write);
  [[nodiscard]] std::vector<RunningTable::Entry> running_elsewhere();
  Result<void> settle(const RunningTable::Entry& orphan);
  void record_orphan(const ActiveJob& orphan, bool is_saved);
  [[nodiscard]] Json orphaned_return(const returner::Load& load) const;
  Result<std::vector<std::string>> minions_without_return(const returner::Load& load) const;
  void execute_kill_requests();
  void retry_unsettled();

  const std::unique_ptr<returner::Returners> returners_;
  const Clock& clock_;
  const std::string master_id_;
  const std::shared_ptr<Announcer> announcer_;
  const std::size_t max_queued_bytes_;
  // The total size in bytes of the loads of all running and waiting jobs.
  std::atomic<std::size_t> queued_bytes_{0};
  RunningTable table_;
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<RunningJob>, std::less<>> running_ GUARDED_BY(mutex_);
  master::JidSource jids_;
  std::atomic<bool> has_unsettled_ = false;  // Whether the last pass could not record the end of a job.
  std::atomic<bool> is_settling_ = false;
  SteadyTime settled_at_{};  // The time of the last pass. Only the store's thread uses it.
  Thread settler_;           // Only the store's thread uses it. Joined before the members above end.
  // A thread of the store calls this object until `kill_watch_` is destroyed. As the last member,
  // `kill_watch_` is destroyed before the members that this thread uses.
  store::Store::Registration kill_watch_;
};

}  // namespace rest_fcgi::embedded

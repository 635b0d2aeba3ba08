// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
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

#include "rest_fcgi/returner/returner.h"

namespace rest_fcgi::embedded {

/// A job whose calls, one for each of the load's minions, are on worker threads. Shared by those threads and
/// by who asks what runs. Thread-safe.
class RunningJob {
 public:
  /// Records that a call was interrupted; called at most once for each, and never together with that call's
  /// return.
  using Interrupt = std::function<void(std::size_t call)>;

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

  /// Absent for a minion that the job is not for.
  [[nodiscard]] std::optional<std::size_t> call_on(std::string_view minion) const;

  const returner::Load load_;
  const std::string ret_;
  const Interrupt interrupt_;
  mutable std::mutex mutex_;
  std::vector<Call> calls_;
  std::size_t unfinished_;  // guarded by mutex_
};

/// The jobs that have calls on worker threads, by jid. Thread-safe.
class RunningJobs {
 public:
  /// `max_bytes`: of the loads of all jobs that run or wait.
  explicit RunningJobs(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// Sets room aside for a job, which `finish` gives back with its last call. False where there is none.
  [[nodiscard]] bool take_room(const returner::Load& load);

  /// For a job that had room and does not run after all.
  void give_room(const returner::Load& load);

  void add(std::shared_ptr<RunningJob> job);

  /// The call's return is recorded; a job goes with its last call. True where this was it.
  bool finish(RunningJob& job, std::size_t call);

  /// Null where no such job runs.
  [[nodiscard]] std::shared_ptr<RunningJob> find(std::string_view jid) const;

  [[nodiscard]] bool empty() const;

  /// In the order of their jids.
  [[nodiscard]] std::vector<std::shared_ptr<const RunningJob>> all() const;

  /// Gives all of them away.
  [[nodiscard]] std::vector<std::shared_ptr<RunningJob>> take_all();

 private:
  const std::size_t max_bytes_;
  std::atomic<std::size_t> bytes_{0};
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<RunningJob>, std::less<>> jobs_;  // guarded by mutex_
};

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
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

  /// Interrupts the calls that nobody claimed so far. Returns how many.
  std::size_t interrupt();

 private:
  enum class State : unsigned char { running, claimed, finished };

  const returner::Load load_;
  const std::string ret_;
  const Interrupt interrupt_;
  mutable std::mutex mutex_;
  std::vector<State> calls_;  // guarded by mutex_
  std::size_t unfinished_;    // guarded by mutex_
};

/// The jobs that have calls on worker threads, by jid. Thread-safe.
class RunningJobs {
 public:
  void add(std::shared_ptr<RunningJob> job);

  /// The call's return is recorded; a job goes with its last call.
  void finish(RunningJob& job, std::size_t call);

  /// Null where no such job runs.
  [[nodiscard]] std::shared_ptr<const RunningJob> find(std::string_view jid) const;

  /// In the order of their jids.
  [[nodiscard]] std::vector<std::shared_ptr<const RunningJob>> all() const;

  /// Interrupts all calls that did not return, and forgets their jobs. Returns how many calls that were.
  std::size_t interrupt_all();

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<RunningJob>, std::less<>> jobs_;  // guarded by mutex_
};

}  // namespace rest_fcgi::embedded

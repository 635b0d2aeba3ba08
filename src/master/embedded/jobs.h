// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "master/embedded/jid.h"
#include "master/embedded/running_jobs.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/returner/returner.h"

namespace rest_fcgi::embedded {

/// What a call returns that had not ended when the engine shut down.
inline constexpr std::string_view kInterrupted = "Job interrupted: the engine shut down before it ended.";

/// All jobs of this process: their ids, what is kept about them, and which of them run. Shared by the
/// runtime, the masters, and the tasks on worker threads. Thread-safe.
class Jobs {
 public:
  Jobs(std::unique_ptr<returner::Returner> cache, const Clock& clock);

  [[nodiscard]] std::string new_jid();

  /// Gives the load a jid of its own and saves it. `chosen`: the caller's own one; empty: one is made.
  /// Errors: invocation where a chosen jid is taken; those of the job cache.
  [[nodiscard]] Result<std::string> save(returner::Load load, std::string_view chosen);

  /// Keeps a return. A failure of the job cache stands in the log: the return itself was delivered.
  void record(std::string_view jid, const master::Return& ret);

  [[nodiscard]] const returner::Returner& cache() const noexcept { return *cache_; }
  [[nodiscard]] RunningJobs& running() noexcept { return running_; }
  [[nodiscard]] const RunningJobs& running() const noexcept { return running_; }
  [[nodiscard]] const Clock& clock() const noexcept { return clock_; }

  /// The id under which runners and wheels return, as a master's own minion does.
  [[nodiscard]] const std::string& master_id() const noexcept { return master_id_; }

 private:
  [[nodiscard]] bool is_known(std::string_view jid) const;

  const std::unique_ptr<returner::Returner> cache_;
  const Clock& clock_;
  const std::string master_id_;
  RunningJobs running_;
  JidSource jids_;
  std::mutex choosing_;  // held from the look whether a chosen jid is taken until its load is saved
  std::atomic<bool> any_chosen_{false};  // then a made jid could be taken, too
};

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::client {

/// How long one job is waited for.
struct Patience {
  std::chrono::milliseconds timeout;             ///< until minions are asked whether the job still runs
  std::chrono::milliseconds gather_job_timeout;  ///< how long they have to answer
};

/// Salt's rules for how long to wait for one job's minions. After `timeout` those that have not returned are
/// asked whether the job still runs (`saltutil.find_job`). While some say yes, they are asked again every
/// `gather_job_timeout`; when a round stays without a yes, and for each minion `timeout` has passed since its
/// last one, the wait is over. So a job may run as long as its minion says that it does.
///
/// Does nothing by itself: it is told what happened and when, and says what is due. Owns its copy of the ids.
/// Not synchronized.
class PendingJob {
 public:
  PendingJob(std::vector<std::string> minions, Patience patience, SteadyTime now);

  /// A minion returned. False where it is none of ours, or not waited for any more.
  bool returned(std::string_view minion);

  /// A minion said that it is still at work.
  void runs(std::string_view minion, SteadyTime now);

  enum class Step {
    wait,     ///< until `due()`
    ask,      ///< all in `waiting()`, and say so with `asked`
    give_up,  ///< on all in `waiting()`
  };
  [[nodiscard]] Step step(SteadyTime now) const;
  [[nodiscard]] SteadyTime due(SteadyTime now) const;
  void asked(SteadyTime now);

  [[nodiscard]] bool done() const noexcept { return limits_.empty(); }

  /// Who has not returned, in the order of the job.
  [[nodiscard]] std::vector<std::string> waiting() const;

 private:
  [[nodiscard]] SteadyTime latest_limit() const;

  std::vector<std::string> minions_;
  Patience patience_;
  std::unordered_map<std::string_view, SteadyTime>
      limits_;           ///< of those that have not returned; into minions_
  SteadyTime deadline_;  ///< of the timeout, later of the round of questions
  bool ask_ = true;      ///< is there reason to ask when it has passed?
};

}  // namespace rest_fcgi::client

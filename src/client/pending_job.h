// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::client {

/// How long one job is waited for.
struct Patience {
  std::chrono::milliseconds timeout;             ///< until minions are asked whether the job still runs
  std::chrono::milliseconds gather_job_timeout;  ///< how long they have to answer
  /// How long, from the start, syndics may name minions of theirs, and how much later answers come through
  /// them; 0: there are none.
  std::chrono::milliseconds syndic_wait{0};
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
  PendingJob(const std::vector<std::string>& minions, Patience patience, SteadyTime now);

  /// Syndics named minions of theirs. Those that are known are left alone, also where they have returned. The
  /// syndics themselves are not waited for, unless they are such minions as well.
  void expect(const std::vector<std::string>& minions, const std::vector<std::string>& syndics,
              SteadyTime now);

  /// A minion returned. False where it has returned before, was given up, or is none of ours; where there are
  /// syndics every minion may be one of ours.
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

  /// Nobody is waited for any more, nor is anybody expected to be named.
  [[nodiscard]] bool done(SteadyTime now) const noexcept { return limits_.empty() && now >= settled_; }

  /// Who has not returned, in the order of the job.
  [[nodiscard]] std::vector<std::string> waiting() const;

 private:
  [[nodiscard]] SteadyTime latest_limit() const;
  /// False where it is known already.
  bool add(std::string_view minion, SteadyTime limit);

  std::deque<std::string> minions_;               // a deque, since others look into it
  std::unordered_set<std::string_view> known_;    ///< all of minions_
  std::unordered_set<std::string_view> syndics_;  ///< of minions_, neither returned nor waited for
  Patience patience_;
  std::unordered_map<std::string_view, SteadyTime>
      limits_;           ///< of those that have not returned; into minions_
  SteadyTime settled_;   ///< from when on no further minions are named
  SteadyTime deadline_;  ///< of the timeout, later of the round of questions
  bool ask_ = true;      ///< is there reason to ask when it has passed?
};

}  // namespace rest_fcgi::client

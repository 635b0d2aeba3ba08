// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "master/embedded/events/job_events.h"
#include "master/embedded/events/peers.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/events.h"
#include "rest_fcgi/returner/returner.h"
#include "rest_fcgi/returner/watch.h"

namespace rest_fcgi::embedded {

/// Is a job, of a runner or wheel, in the job cache?
enum class Kept { no, yes };

/// Tells all who listen what becomes of jobs and minions, each event once. Where nobody listens, nothing is
/// written. Thread-safe.
///
/// Who listens in other processes of this host hears it through `Peers`. Where hosts share a job cache that
/// can be watched, there are no peers: all listeners, those of this process too, hear from that cache what
/// becomes of the jobs in it, and what is no such job's is published there.
class Announcer {
 public:
  /// `log`: null: nobody listens. `peers`: null: none. `clock` has to outlive it.
  Announcer(std::shared_ptr<master::EventLog> log, const Clock& clock,
            std::unique_ptr<Peers> peers = nullptr);
  ~Announcer();
  Announcer(const Announcer&) = delete;
  Announcer& operator=(const Announcer&) = delete;

  /// Hears and tells others through this job cache, where that can be; it has to outlive this. Call before
  /// all else. False where it cannot be.
  bool watch(returner::Returner& cache);

  /// What happens from now on, here and elsewhere; `after` as in `EventLog::reader`. Errors: those of that,
  /// and unavailable, where one cannot hear what happens elsewhere.
  [[nodiscard]] Result<std::unique_ptr<master::EventReader>> reader(const master::EventPermit& permit,
                                                                    std::string_view after);

  /// Does anybody listen?
  [[nodiscard]] bool wanted();

  // What happened, as job_events.h has it. All jobs of minions are kept.
  void job_new(const returner::Load& load, const std::vector<std::string>& missing);
  void job_ret(const returner::Load& load, const master::Return& ret);
  void master_new(const returner::Load& load, Kept kept);
  void master_ret(const returner::Load& load, const Json& ret, bool success, Kept kept);
  void minion_start(std::string_view id);
  /// A reload took the minion away.
  void minion_gone(std::string_view id);
  void fire(std::string_view tag, const JsonValue& data);

 private:
  class Cluster;
  void tell(const EventText& event);
  void keep(const EventText& event) { log_->append(event.tag, event.data, event.user); }
  [[nodiscard]] WallTime now() const { return clock_.wall(); }

  const std::shared_ptr<master::EventLog> log_;
  const Clock& clock_;
  const std::unique_ptr<Peers> peers_;
  const std::unique_ptr<Cluster> cluster_;    // hears from watch_
  std::unique_ptr<returner::Watch> watch_{};  // null: none
};

}  // namespace rest_fcgi::embedded

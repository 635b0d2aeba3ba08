// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "master/embedded/events/job_events.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/events.h"
#include "rest_fcgi/returner/returner.h"
#include "rest_fcgi/returner/watch.h"

namespace rest_fcgi::embedded {

/// Whether the job of a runner or wheel is in the job cache.
enum class Kept { no, yes };

/// Tells the listeners of this process what becomes of jobs and minions, each event once. Without listeners
/// no event is made. Thread-safe.
///
/// Where hosts share a job cache that can be watched, listeners hear from that cache what becomes of the jobs
/// in it. All other events are published there as well, for the listeners of other processes and hosts.
class Announcer {
 public:
  /// Without `log` there are no listeners. `clock` has to outlive it.
  Announcer(std::shared_ptr<master::EventLog> log, const Clock& clock);
  ~Announcer();
  Announcer(const Announcer&) = delete;
  Announcer& operator=(const Announcer&) = delete;

  /// Hears from this job cache, and publishes there, if it can be watched. `cache` has to outlive this. Call
  /// before all else.
  void watch(returner::Returner& cache);

  /// Returns a reader of the events from now on; `after` as in `EventLog::reader`. Errors: those of
  /// `EventLog::reader`; unavailable, where the job cache that hosts share cannot be watched.
  [[nodiscard]] Result<std::unique_ptr<master::EventReader>> reader(const master::EventPermit& permit,
                                                                    std::string_view after);

  /// Returns whether there may be listeners, here or on other hosts.
  [[nodiscard]] bool wanted();

  // Each tells one event of job_events.h. All jobs of minions are in the job cache.
  void job_new(const returner::Load& load, const std::vector<std::string>& missing);
  void job_ret(const returner::Load& load, const master::Return& ret);
  void master_new(const returner::Load& load, Kept kept);
  void master_ret(const returner::Load& load, const Json& ret, bool success, Kept kept);
  void minion_start(std::string_view id);
  /// Tells that a reload took the minion away.
  void minion_gone(std::string_view id);
  void fire(std::string_view tag, const JsonValue& data);

 private:
  class Cluster;
  void tell(const EventText& event);
  void keep(const EventText& event) { log_->append(event.tag, event.data, event.user); }
  [[nodiscard]] WallTime now() const { return clock_.wall(); }

  const std::shared_ptr<master::EventLog> log_;
  const Clock& clock_;
  const std::unique_ptr<Cluster> cluster_;    // hears from watch_
  std::unique_ptr<returner::Watch> watch_{};  // null: none
};

}  // namespace rest_fcgi::embedded

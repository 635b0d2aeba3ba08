// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/events.h"
#include "rest_fcgi/master/job_observer.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/returner/returner.h"

/// The events of a Salt master of the release series 3008 (salt/master.py, salt/minion.py,
/// salt/client/mixins.py). Secrets are hidden by the rules of `master::secrecy_of` and
/// `master::without_secrets`, except in what a minion returned.
namespace rest_fcgi::embedded {

struct EventText;

/// Returns whether the job is that of a runner or wheel, of any process. Its function is `runner.NAME` or
/// `wheel.NAME`, and its only minion is a master.
[[nodiscard]] bool is_master_call(const returner::Load& load);

/// Whether the job of a runner or wheel is in the job cache. Jobs of minions always are.
enum class InJobCache { no, yes };

/// Adds the events of jobs and minions to the event log of this process, each event once. Without listeners
/// no event is made. Thread-safe.
///
/// If hosts share a job cache that can be watched, events of its jobs come from the watch. All other events
/// are also published there for other processes and hosts.
class Announcer {
 public:
  /// `clock` has to outlive this.
  Announcer(std::shared_ptr<master::EventLog> log, const Clock& clock);
  ~Announcer();
  Announcer(const Announcer&) = delete;
  Announcer& operator=(const Announcer&) = delete;

  /// Watches the job cache if it can be watched. `cache` has to outlive this. Call before all other
  /// functions.
  void watch(returner::Returner& cache);

  /// Tells `observer` of the jobs and minions of this process. Call before all other functions.
  void observe(std::shared_ptr<master::JobObserver> observer) { observer_ = std::move(observer); }

  /// Returns a reader of events from now on; `after`: see `EventLog::reader`. Errors: those of
  /// `EventLog::reader`; unavailable, if the shared job cache cannot be watched.
  [[nodiscard]] Result<std::unique_ptr<master::EventReader>> reader(const master::EventPermit& permit,
                                                                    std::string_view after);

  /// Returns whether there is an observer, or may be listeners, here or on other hosts.
  [[nodiscard]] bool has_listeners() { return observer_ || needs_events(); }

  /// `missing`: ids in the job's target that no minion has.
  void job_new(const returner::Load& load, const std::vector<std::string>& missing);
  void job_ret(const returner::Load& load, const master::Return& ret);
  void master_new(const returner::Load& load, InJobCache in_job_cache);
  void master_ret(const returner::Load& load, const Json& ret, bool success, InJobCache in_job_cache);
  void minion_start(std::string_view id);
  void minion_gone(std::string_view id);  ///< Salt's event of a deleted key
  /// `data`: an object; its `_stamp` is replaced.
  void fire(std::string_view tag, const JsonValue& data);

 private:
  [[nodiscard]] bool needs_events() { return log_->wanted() || watch_; }
  class ClusterEvents;
  void announce(const EventText& event);
  void append(const EventText& event);
  [[nodiscard]] WallTime now() const { return clock_.wall(); }

  const std::shared_ptr<master::EventLog> log_;
  const Clock& clock_;
  const std::unique_ptr<ClusterEvents> cluster_events_;  // called by watch_
  std::unique_ptr<returner::Watch> watch_{};
  std::shared_ptr<master::JobObserver> observer_{};
};

}  // namespace rest_fcgi::embedded

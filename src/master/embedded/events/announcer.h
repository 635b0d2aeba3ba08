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

/// Makes the same events as a Salt master of the release series 3008 (salt/master.py, salt/minion.py,
/// salt/client/mixins.py). Secrets are hidden, except in the returns of minions.
namespace rest_fcgi::embedded {

struct EventText;

/// Returns whether the job is a call of a runner or wheel. The function of such a job is `runner.NAME` or
/// `wheel.NAME`, and the id of its only minion ends with `_master`.
[[nodiscard]] bool is_master_call(const returner::Load& load);

/// Whether the job of a runner or wheel is in the job cache. If so, a watch of the job cache announces the
/// job.
enum class InJobCache { no, yes };

/// Adds the events of jobs and minions to the event log of this process. If the job cache can be watched, the
/// events of jobs come from the watch, which sees the jobs of all processes and hosts. The announcer then
/// publishes all other events to the job cache, so that other processes and hosts get them. Thread-safe.
class Announcer {
 public:
  Announcer(std::shared_ptr<master::EventLog> log, const Clock& clock);
  ~Announcer();
  Announcer(const Announcer&) = delete;
  Announcer& operator=(const Announcer&) = delete;

  /// Watches the job cache, if it can be watched. `cache` must outlive the announcer. REQUIRES: `watch` is
  /// called before all other functions.
  void watch(returner::Returner& cache);

  /// Reports the jobs and minions of this process to `observer`. REQUIRES: no job or event was announced yet.
  void observe(std::shared_ptr<master::JobObserver> observer) { observer_ = std::move(observer); }

  /// Returns a reader of all events after the event `after`. Fails with the errors of `EventLog::reader`, and
  /// with `unavailable` if the shared job cache cannot be watched.
  Result<std::unique_ptr<master::EventReader>> reader(const master::EventPermit& permit,
                                                      std::string_view after);

  /// Returns whether events of this process are needed. They are needed if this process has an observer or an
  /// event listener. They are also needed if the job cache is watched, because a listener may be on another
  /// host.
  [[nodiscard]] bool has_listeners() { return observer_ || needs_events(); }

  /// Announces a new job. `missing` lists the ids in the job's target that no minion has.
  void job_new(const returner::Load& load, const std::vector<std::string>& missing);
  void job_ret(const returner::Load& load, const master::Return& ret);
  void master_new(const returner::Load& load, InJobCache in_job_cache);
  void master_ret(const returner::Load& load, const Json& ret, bool success, InJobCache in_job_cache);
  void minion_start(std::string_view id);
  void minion_gone(std::string_view id);  ///< `minion_gone` announces Salt's event for a deleted key.
  /// `fire` announces an event. `data` is an object; the time of the event replaces the member `_stamp`.
  void fire(std::string_view tag, const JsonValue& data);

 private:
  [[nodiscard]] bool needs_events() { return log_->wanted() || watch_; }
  class ClusterEvents;
  void announce(const EventText& event);
  void append(const EventText& event);
  [[nodiscard]] WallTime now() const { return clock_.wall(); }

  const std::shared_ptr<master::EventLog> log_;
  const Clock& clock_;
  // The thread of `watch_` uses this member, so this member is destroyed after `watch_`.
  const std::unique_ptr<ClusterEvents> cluster_events_;
  std::unique_ptr<returner::Watch> watch_{};
  std::shared_ptr<master::JobObserver> observer_{};
};

}  // namespace rest_fcgi::embedded

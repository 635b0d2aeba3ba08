// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/returner/returner.h"

namespace rest_fcgi::returner {

/// Hears what all hosts do that share a job cache. Called by one thread of the `Watch`, one call at a time;
/// calls have to be quick, and must not call the watch. Abstract because each engine makes other events of
/// it.
class ClusterListener {
 public:
  virtual ~ClusterListener() = default;

  /// Asked several times a second, though not in the first seconds after `Watch::start`; where it says no,
  /// the watch ends by itself.
  [[nodiscard]] virtual bool wanted() = 0;

  /// A job begins: its load is in the job cache, for the first time. Whoever writes there: this process,
  /// other processes and hosts, Salt itself.
  virtual void job(const Load& load) = 0;

  /// A minion's return is in the job cache, and was not there before: one that differs replaced another one.
  /// It comes after its job, where that was told at all. Of a job that is not kept any more, `load` holds the
  /// jid, function and arguments alone.
  virtual void returned(const Load& load, const JobReturn& ret) = 0;

  /// What another process published. Never what this one did.
  virtual void event(std::string_view tag, const Json& data, std::string_view user) = 0;

  /// Something may not have been told, for that reason. All that is done from now on is told again.
  virtual void lost(const std::string& reason) = 0;
};

/// Tells, in order and each once, what everybody does in one job cache: jobs, returns, and events that are no
/// job's. A lost connection or member loses nothing. Thread-safe; its thread and connection are there only
/// while somebody listens. When it goes, it waits for its threads, which takes well under a second but for
/// a cluster that does not answer.
class Watch {
 public:
  virtual ~Watch() = default;

  /// When this came back, all that anybody does from then on is told, until the listener says that it is not
  /// wanted. Quick where it is told already. One exception, for what others `publish`: where nobody listened
  /// before, on any host, they may take a second to notice.
  /// Errors: those of the job cache, which stand for a second; unavailable, where another thread has begun
  /// for a second and is not done. Nothing is told then.
  [[nodiscard]] virtual Result<void> start(SteadyTime deadline) = 0;

  /// Tells an event that is no job's to the listeners of other processes and hosts, soon. Does not wait for
  /// anything; where nobody listens elsewhere, nothing is written. What cannot be told is said by `lost`
  /// there. `data` is an object and holds no secret.
  virtual void publish(std::string_view tag, const Json& data, std::string_view user) = 0;
};

}  // namespace rest_fcgi::returner

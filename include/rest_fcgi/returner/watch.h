// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/returner/returner.h"

namespace rest_fcgi::returner {

/// Hears what all hosts do that share a job cache. One thread of the `Watch` calls it, one call at a time.
/// The calls must be quick, and must not call the watch. Abstract because each engine makes other events of
/// it.
class ClusterListener {
 public:
  virtual ~ClusterListener() = default;

  /// Returns whether the watch should go on. The watch asks several times a second, from the fourth second
  /// after `Watch::start` on, and ends by itself when the answer is no.
  [[nodiscard]] virtual bool wanted() = 0;

  /// A job begins: its load is in the job cache for the first time. This process, other processes and hosts,
  /// and Salt itself write loads.
  virtual void job(const Load& load) = 0;

  /// A minion's return is in the job cache, and was not there before, or was another one. It comes after its
  /// job, if that was told. If the job is gone, `load` holds its jid, function and arguments alone.
  virtual void returned(const Load& load, const JobReturn& ret) = 0;

  /// Another process published an event. What this process publishes is not told.
  virtual void event(std::string_view tag, const Json& data, std::string_view user) = 0;

  /// Something may not have been told, for that reason. The watch goes on.
  virtual void lost(const std::string& reason) = 0;
};

/// Tells what all processes do in one job cache, in order and each thing once: jobs, returns, and events that
/// are no job's. A lost connection or member loses nothing. Thread-safe. Its thread and connection are there
/// only while the listener wants it. The destructor waits for the threads: well under a second, and longer
/// only for a cluster that does not answer.
class Watch {
 public:
  virtual ~Watch() = default;

  /// After the return, all that any process does is told, until the listener wants no more. Quick while the
  /// watch goes on. One exception: if there was no listener on any host, other processes may take a second
  /// to notice this one, and events that they `publish` in that second are not told.
  /// Errors: those of the job cache, which stand for a second; unavailable, where another thread has waited
  /// for a second for the cluster. Nothing is told then.
  [[nodiscard]] virtual Result<void> start(SteadyTime deadline) = 0;

  /// Tells an event that is no job's to the listeners of other processes and hosts, soon. Does not wait.
  /// Writes nothing where no other process listens. A listener hears by `lost` of an event that could not be
  /// told. `data` is an object and holds no secret.
  virtual void publish(std::string_view tag, const Json& data, std::string_view user) = 0;
};

}  // namespace rest_fcgi::returner

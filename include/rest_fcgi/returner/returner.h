// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/returner/options.h"

namespace rest_fcgi::returner {

/// Salt's load of a job: the function, the arguments and the target that a caller sent, without credentials.
struct Load {
  std::string jid;
  Json fun;  ///< The function's name, or a list of names for a compound call.
  Json arg;
  Json tgt;
  std::string tgt_type;
  std::string user;
  std::optional<Json> metadata;
  std::vector<std::string> minions;
};

struct JobReturn {
  std::string minion;
  Json ret;
  int retcode = 0;
  bool success = true;
  std::string out;
  /// Whether this return is a placeholder for a minion that did not answer. A placeholder never replaces a
  /// stored return.
  bool is_placeholder = false;
};

struct ReturnView {
  std::string_view minion;
  std::string_view ret;  ///< `ret` is the return as JSON text.
  int retcode = 0;
  bool success = true;
  std::string_view out;

  [[nodiscard]] JobReturn copy() const {
    return {std::string(minion), Json::trusted(std::string(ret)), retcode, success, std::string(out)};
  }
};
[[nodiscard]] inline ReturnView view_of(const JobReturn& ret) noexcept {
  return {ret.minion, ret.ret.text(), ret.retcode, ret.success, ret.out};
}

/// `Durability` says how safe a stored load is when `save_load` has returned.
enum class Durability {
  committed,  ///< `committed` loads survive the end of the process.
  durable,    ///< `durable` loads survive the end of the process and a power cut.
};

/// A selection of jobs. The jobs are sorted by jid, and therefore by time. A condition that is an empty
/// string selects all jobs.
struct JobQuery {
  std::string first{};        ///< `first` selects this jid and greater jids.
  std::string last{};         ///< `last` selects this jid and smaller jids.
  std::string after{};        ///< `after` selects only jids that are greater than this jid.
  std::string before{};       ///< `before` selects only jids that are smaller than this jid.
  bool newest_first = false;  ///< `newest_first` makes the newest job come first, otherwise the oldest.
};

/// A function that gets the load of one job and returns whether it wants the next load. The function must not
/// call the job cache.
using LoadVisitor = std::function<bool(const Load&)>;

/// The receiver of the jobs, returns and events of all hosts that share a job cache. The thread of a `Watch`
/// calls the functions of this class. These functions must return quickly and must not call the Watch.
class ClusterListener {
 public:
  virtual ~ClusterListener() = default;

  /// Returns whether the watch must continue. The watch calls this function several times a second, for the
  /// first time three seconds after `Watch::start`.
  [[nodiscard]] virtual bool wanted() = 0;

  /// Handles a new job. Any process on any host, or Salt itself, may have stored the load.
  virtual void job(const Load& load) = 0;

  /// Handles a new or changed return. `load` is the load of the return's job. If the job cache has no such
  /// load, `load` has only the jid, the function and the arguments. The watch passes a new job to `job`
  /// before it passes the job's returns.
  virtual void returned(const Load& load, const JobReturn& ret) = 0;

  virtual void event(std::string_view tag, const Json& data, std::string_view user) = 0;

  /// Handles a loss: some jobs, returns or events will not come. The watch continues.
  virtual void lost(const std::string& reason) = 0;
};

/// A watch of one job cache. Passes the jobs, returns and events of all processes to a listener, in order and
/// each once. Nothing is lost if a connection or a member of the cluster fails. The destructor waits for the
/// thread of the watch. Thread-safe.
class Watch {
 public:
  virtual ~Watch() = default;

  /// Starts the watch if it does not run. A process sends no events if no other process listens, and looks
  /// for listeners once a second. So the watch may miss the events of its first second. Errors: those of the
  /// job cache; unavailable, after a second, if another thread is starting the watch.
  virtual Result<void> start(SteadyTime deadline) = 0;

  /// Sends an event to the listeners of other processes, without waiting. If the event cannot be sent, the
  /// watches of these processes call `ClusterListener::lost`. `data` is an object without secrets.
  virtual void publish(std::string_view tag, const Json& data, std::string_view user) = 0;
};

/// A job cache with the functions of Salt's returner interface. Thread-safe. Errors of all calls:
/// unavailable; internal.
class Returner {
 public:
  virtual ~Returner() = default;

  /// Reserves a jid that a caller chose. Returns false if the jid is already used.
  virtual Result<bool> prep_jid(std::string_view passed_jid) = 0;

  /// Stores the load of a job. Replaces an earlier load of this jid, and keeps the returns of the job.
  virtual Result<void> save_load(Load load, Durability durability) = 0;

  virtual Result<void> save_job(const Load& load, std::span<const ReturnView> returns) = 0;

  /// Adds minions to a job's list of minions that are expected to return.
  virtual Result<void> save_minions(std::string_view jid, const std::vector<std::string>& minions) = 0;

  /// Stores a return of a minion. Replaces an earlier return of this minion, but a placeholder replaces
  /// nothing. Drops the return if the job is not stored.
  virtual Result<void> returner(std::string_view jid, JobReturn ret) = 0;

  virtual Result<std::optional<Load>> get_load(std::string_view jid) const = 0;

  /// Returns the stored returns of a job, sorted by minion. Returns an empty list for an unknown job.
  virtual Result<std::vector<JobReturn>> get_jid(std::string_view jid) const = 0;

  /// Calls `visit` for the load of each job that `query` selects. The cost depends only on the number of
  /// visited jobs.
  virtual Result<void> get_jids(const JobQuery& query, const LoadVisitor& visit) const = 0;

  /// Waits until the effects of all earlier calls survive a power cut.
  virtual Result<void> flush() = 0;

  /// Makes a watch without starting the watch. The listener must outlive the watch. Returns null if the job
  /// cache supports no watch.
  virtual Result<std::unique_ptr<Watch>> watch(ClusterListener& listener);
};

struct LoadPage {
  std::vector<Load> loads;
  /// The query that selects the jobs of the following pages. Absent after the last page.
  std::optional<JobQuery> rest;
};

/// Returns a page of loads: the first jobs that `query` selects. The parameter `most` is the largest number
/// of loads in the page. Errors: those of `get_jids`. REQUIRES: `most` is not 0.
Result<LoadPage> get_page(const Returner& cache, JobQuery query, std::size_t most);

}  // namespace rest_fcgi::returner

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

/// Salt's load of a job: the function, arguments and target that a caller sent, without credentials.
struct Load {
  std::string jid;
  Json fun;  ///< the function's name, or a list of names for compound functions
  Json arg;
  Json tgt;
  std::string tgt_type;
  std::string user;
  std::optional<Json> metadata;
  std::vector<std::string> minions;
};

/// The return of one minion.
struct JobReturn {
  std::string minion;
  Json ret;
  int retcode = 0;
  bool success = true;
  std::string out;
  /// Whether this is only an entry for a minion that did not answer. A placeholder never replaces a return,
  /// and every return replaces a placeholder.
  bool is_placeholder = false;
};

/// A view of a return. Borrows its texts.
struct ReturnView {
  std::string_view minion;
  std::string_view ret;  ///< the return as JSON text
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

/// Which failure a stored load survives after the call has returned.
enum class Durability {
  committed,  ///< the load survives the end of the process
  durable,    ///< the load also survives a power cut
};

/// A selection of jobs, sorted by jid and so by time. A member with an empty text sets no condition.
struct JobQuery {
  std::string first{};        ///< smallest jid that is selected
  std::string last{};         ///< greatest jid that is selected
  std::string after{};        ///< selects only jids that are greater than this one
  std::string before{};       ///< selects only jids that are smaller than this one
  std::string fun{};          ///< selects only jobs whose single function is this one
  bool newest_first = false;  ///< whether the newest job comes first; otherwise the oldest
};

/// A function that gets one load, and returns whether it wants the next one. It must not call the returner.
using LoadVisitor = std::function<bool(const Load&)>;

/// The interface of an object that gets the jobs, returns and events of all hosts that share a job cache. The
/// thread of a `Watch` calls it. The functions must return quickly and must not call the watch. The class is
/// abstract, because each engine makes its own events.
class ClusterListener {
 public:
  virtual ~ClusterListener() = default;

  /// Returns whether the watch shall continue. The watch calls this several times a second, from the fourth
  /// second after `Watch::start` on. The watch ends when the result is false.
  [[nodiscard]] virtual bool wanted() = 0;

  /// Handles a new job. Its load was stored for the first time by any process on any host, or by Salt itself.
  virtual void job(const Load& load) = 0;

  /// Handles a new or changed return. The call of `job` for its job comes first. If the job is deleted,
  /// `load` has only the jid, function and arguments.
  virtual void returned(const Load& load, const JobReturn& ret) = 0;

  /// Handles an event of another process.
  virtual void event(std::string_view tag, const Json& data, std::string_view user) = 0;

  /// Handles a loss: for this reason some jobs, returns or events may be missing. The watch continues.
  virtual void lost(const std::string& reason) = 0;
};

/// A watch of one job cache. It passes the jobs, returns and events of all processes to its listener, in
/// order and each once. If a connection or a member of the cluster fails, nothing is lost. The watch has a
/// thread and a connection only while the listener wants it. The destructor waits for the thread. This takes
/// less than a second, or longer if etcd does not answer. Thread-safe.
class Watch {
 public:
  virtual ~Watch() = default;

  /// Starts the watch if it does not run. After this function has returned, the listener gets the jobs,
  /// returns and events of all processes. There is one exception: other processes send events only if there
  /// is a listener on any host. If this is the first listener, other processes notice it within a second, and
  /// their events of that second are missing. Errors: those of the job cache, and calls within the next
  /// second then return the same error. unavailable, if this call has waited a second for another thread that
  /// starts the watch. After an error, the caller must not rely on calls of the listener.
  [[nodiscard]] virtual Result<void> start(SteadyTime deadline) = 0;

  /// Sends an event to the listeners of other processes, without waiting. If there are no listeners, nothing
  /// is written. If an event cannot be sent, `ClusterListener::lost` is called. `data` is an object without
  /// secrets.
  virtual void publish(std::string_view tag, const Json& data, std::string_view user) = 0;
};

/// A job cache. The functions have the names of Salt's returner interface. The class is abstract, because
/// SQLite or etcd may store the jobs. Thread-safe. Errors of every call: unavailable, internal.
class Returner {
 public:
  virtual ~Returner() = default;

  /// Reserves a jid that a caller chose. Returns false if the jid is already used. Jids that this program
  /// makes are unique and need no reservation.
  [[nodiscard]] virtual Result<bool> prep_jid(std::string_view passed_jid) = 0;

  /// Stores a job. Replaces an earlier load with the same jid, and keeps the returns of that job.
  virtual Result<void> save_load(Load load, Durability durability) = 0;

  /// Stores a job together with the returns that exist already.
  virtual Result<void> save_job(const Load& load, std::span<const ReturnView> returns) = 0;

  /// Adds minions to a job's list of minions that are expected to return.
  virtual Result<void> save_minions(std::string_view jid, const std::vector<std::string>& minions) = 0;

  /// Stores a return. It replaces an earlier return of the same minion, but a placeholder replaces nothing.
  /// If the job is not stored, the return is dropped.
  virtual Result<void> returner(std::string_view jid, JobReturn ret) = 0;

  /// Returns a job; absent if it is not stored.
  [[nodiscard]] virtual Result<std::optional<Load>> get_load(std::string_view jid) const = 0;

  /// Returns the stored returns of a job, sorted by the minions' ids. Returns an empty list for an unknown
  /// job.
  [[nodiscard]] virtual Result<std::vector<JobReturn>> get_jid(std::string_view jid) const = 0;

  /// Calls `visit` for each selected load. The cost depends on the number of visited jobs, and not on the
  /// number of stored jobs.
  [[nodiscard]] virtual Result<void> get_jids(const JobQuery& query, const LoadVisitor& visit) const = 0;

  /// Waits until the effects of all earlier calls survive a power cut.
  virtual Result<void> flush() = 0;

  /// Makes a watch without starting it. The listener must outlive the watch. Returns null if this job cache
  /// supports no watch.
  [[nodiscard]] virtual Result<std::unique_ptr<Watch>> watch(ClusterListener& listener);
};

/// One page of the selected loads.
struct LoadPage {
  std::vector<Load> loads;
  std::optional<JobQuery> rest;  ///< the query for the following pages; absent after the last page
};

/// Returns a page with the first `most` selected loads. Pages keep no lock or cursor in the job cache.
/// Errors: those of `get_jids`. REQUIRES: `most` is not 0.
[[nodiscard]] Result<LoadPage> get_page(const Returner& cache, JobQuery query, std::size_t most);

}  // namespace rest_fcgi::returner

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
  /// Whether this is a placeholder for a minion that did not answer. A placeholder never replaces a return.
  bool is_placeholder = false;
};

struct ReturnView {
  std::string_view minion;
  std::string_view ret;  ///< The return as JSON text.
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

/// What a stored load survives when `save_load` has returned.
enum class Durability {
  committed,  ///< The load survives the end of the process.
  durable,    ///< The load survives the end of the process and a power cut.
};

/// A selection of jobs, sorted by jid, which is the order of time. An empty text sets no condition.
struct JobQuery {
  std::string first{};        ///< The smallest jid of the selection.
  std::string last{};         ///< The greatest jid of the selection.
  std::string after{};        ///< A jid. Only greater jids are selected.
  std::string before{};       ///< A jid. Only smaller jids are selected.
  std::string fun{};          ///< A function. Only jobs with this single function are selected.
  bool newest_first = false;  ///< Whether the newest job comes first, and not the oldest.
};

/// A function that gets one load and returns whether it wants the next load. It must not call the job cache.
using LoadVisitor = std::function<bool(const Load&)>;

/// The receiver of the jobs, returns and events of all hosts that share a job cache. The thread of a `Watch`
/// calls the functions. They return quickly and do not call the watch.
class ClusterListener {
 public:
  virtual ~ClusterListener() = default;

  /// Returns whether the watch must continue. The watch calls this several times a second, beginning three
  /// seconds after `Watch::start`.
  [[nodiscard]] virtual bool wanted() = 0;

  /// Handles a new job. Any process on any host, or Salt itself, may have stored the load.
  virtual void job(const Load& load) = 0;

  /// Handles a new or changed return, after a call of `job` for its job. If the job was deleted, `load` has
  /// only the jid, function and arguments.
  virtual void returned(const Load& load, const JobReturn& ret) = 0;

  virtual void event(std::string_view tag, const Json& data, std::string_view user) = 0;

  /// Handles a loss of jobs, returns or events. The watch continues.
  virtual void lost(const std::string& reason) = 0;
};

/// A watch of one job cache. Passes the jobs, returns and events of all processes to its listener, in order
/// and each once. A failed connection or a failed member of the cluster causes no loss. The destructor waits
/// for the thread of the watch. Thread-safe.
class Watch {
 public:
  virtual ~Watch() = default;

  /// Starts the watch if it does not run. Events of the first second may be missing if no other process has a
  /// listener. Fails with the errors of the job cache. Fails with `unavailable` after a second if another
  /// thread is starting the watch.
  [[nodiscard]] virtual Result<void> start(SteadyTime deadline) = 0;

  /// Sends an event to the listeners of other processes, without waiting. If the event cannot be sent, the
  /// watch calls `ClusterListener::lost`. `data` is an object without secrets.
  virtual void publish(std::string_view tag, const Json& data, std::string_view user) = 0;
};

/// A job cache with the functions of Salt's returner interface. Thread-safe. Every function may fail with
/// `unavailable` or `internal`.
class Returner {
 public:
  virtual ~Returner() = default;

  /// Reserves a jid that a caller chose. Returns false if the jid is already used.
  [[nodiscard]] virtual Result<bool> prep_jid(std::string_view passed_jid) = 0;

  /// Stores a job. Replaces an earlier load with the same jid, and keeps the returns of the job.
  virtual Result<void> save_load(Load load, Durability durability) = 0;

  virtual Result<void> save_job(const Load& load, std::span<const ReturnView> returns) = 0;

  /// Adds minions to a job's list of minions that are expected to return.
  virtual Result<void> save_minions(std::string_view jid, const std::vector<std::string>& minions) = 0;

  /// Stores a return, in place of an earlier return of the same minion. Drops a placeholder if a return is
  /// stored, and any return of a job that is not stored.
  virtual Result<void> returner(std::string_view jid, JobReturn ret) = 0;

  [[nodiscard]] virtual Result<std::optional<Load>> get_load(std::string_view jid) const = 0;

  /// Returns the stored returns of a job, sorted by minion. An unknown job has an empty list.
  [[nodiscard]] virtual Result<std::vector<JobReturn>> get_jid(std::string_view jid) const = 0;

  /// Calls `visit` for each selected load. The cost depends only on the number of visited jobs.
  [[nodiscard]] virtual Result<void> get_jids(const JobQuery& query, const LoadVisitor& visit) const = 0;

  /// Waits until the effects of all earlier calls survive a power cut.
  virtual Result<void> flush() = 0;

  /// Makes a watch without starting it. The listener must outlive the watch. Returns null if the job cache
  /// supports no watch.
  [[nodiscard]] virtual Result<std::unique_ptr<Watch>> watch(ClusterListener& listener);
};

struct LoadPage {
  std::vector<Load> loads;
  std::optional<JobQuery> rest;  ///< The query for the following pages. Absent after the last page.
};

/// Returns a page with the first `most` loads that `query` selects. Fails with the errors of `get_jids`.
/// REQUIRES: `most` is not 0.
[[nodiscard]] Result<LoadPage> get_page(const Returner& cache, JobQuery query, std::size_t most);

}  // namespace rest_fcgi::returner

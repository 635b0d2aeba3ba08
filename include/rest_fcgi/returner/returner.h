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
  Json fun;  ///< the function's name, or a list of names for a compound call
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
  /// Whether the return only stands for a minion that did not answer. A placeholder never replaces a return.
  bool is_placeholder = false;
};

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

/// The failure that a stored load survives after the call has returned.
enum class Durability {
  committed,  ///< the load survives the end of the process
  durable,    ///< the load also survives a power cut
};

/// A selection of jobs, sorted by jid and so by time. An empty text sets no condition.
struct JobQuery {
  std::string first{};        ///< the smallest selected jid
  std::string last{};         ///< the greatest selected jid
  std::string after{};        ///< the query selects only greater jids
  std::string before{};       ///< the query selects only smaller jids
  std::string fun{};          ///< the query selects only jobs with the single function `fun`
  bool newest_first = false;  ///< whether the newest job comes first, and not the oldest
};

/// A function that gets one load and returns whether it wants the next load. It must not call the returner.
using LoadVisitor = std::function<bool(const Load&)>;

/// The receiver of the jobs, returns and events of all hosts that share a job cache. The thread of a `Watch`
/// calls the functions. They return quickly and do not call the watch.
class ClusterListener {
 public:
  virtual ~ClusterListener() = default;

  /// Returns whether the watch shall continue. The watch asks several times a second, from the fourth second
  /// after `Watch::start` on.
  [[nodiscard]] virtual bool wanted() = 0;

  /// Handles a new job. Any process on any host, or Salt itself, may have stored the load.
  virtual void job(const Load& load) = 0;

  /// Handles a new or changed return after the call of `job` for its job. If the job is deleted, `load` has
  /// only the jid, function and arguments.
  virtual void returned(const Load& load, const JobReturn& ret) = 0;

  virtual void event(std::string_view tag, const Json& data, std::string_view user) = 0;

  /// Handles a loss of jobs, returns or events. The watch continues.
  virtual void lost(const std::string& reason) = 0;
};

/// A watch of one job cache, which passes the jobs, returns and events of all processes to its listener, in
/// order and each once. A failed connection or member of the cluster causes no loss. The destructor waits for
/// the thread of the watch. Thread-safe.
class Watch {
 public:
  virtual ~Watch() = default;

  /// Starts the watch if it does not run. Events of the next second may be missing if no other process has a
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

  /// Adds minions to the list of minions that are expected to return.
  virtual Result<void> save_minions(std::string_view jid, const std::vector<std::string>& minions) = 0;

  /// Stores a return, in place of an earlier return of the same minion. Drops a placeholder for a stored
  /// return, and returns of jobs that are not stored.
  virtual Result<void> returner(std::string_view jid, JobReturn ret) = 0;

  [[nodiscard]] virtual Result<std::optional<Load>> get_load(std::string_view jid) const = 0;

  /// Returns the stored returns of a job, sorted by minion. An unknown job has an empty list.
  [[nodiscard]] virtual Result<std::vector<JobReturn>> get_jid(std::string_view jid) const = 0;

  /// Calls `visit` for each selected load. The cost depends on the number of visited jobs only.
  [[nodiscard]] virtual Result<void> get_jids(const JobQuery& query, const LoadVisitor& visit) const = 0;

  /// Waits until the effects of all earlier calls survive a power cut.
  virtual Result<void> flush() = 0;

  /// Makes a watch without starting it. The listener must outlive the watch. Returns null if the job cache
  /// supports no watch.
  [[nodiscard]] virtual Result<std::unique_ptr<Watch>> watch(ClusterListener& listener);
};

struct LoadPage {
  std::vector<Load> loads;
  std::optional<JobQuery> rest;  ///< the query for the following pages; absent after the last page
};

/// Returns a page with the first `most` selected loads. Fails with the errors of `get_jids`. REQUIRES: `most`
/// is not 0.
[[nodiscard]] Result<LoadPage> get_page(const Returner& cache, JobQuery query, std::size_t most);

}  // namespace rest_fcgi::returner

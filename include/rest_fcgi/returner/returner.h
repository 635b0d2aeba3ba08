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

/// Salt's load of a job, which says what a caller asked for, without credentials.
struct Load {
  std::string jid;
  Json fun;  ///< a string, or a list of them for compound functions
  Json arg;
  Json tgt;
  std::string tgt_type;
  std::string user;
  std::optional<Json> metadata;
  std::vector<std::string> minions;
};

/// What one minion returned.
struct JobReturn {
  std::string minion;
  Json ret;
  int retcode = 0;
  bool success = true;
  std::string out;
  /// For a minion that did not answer. It never replaces a return, and every return replaces it.
  bool is_placeholder = false;
};

/// A return with borrowed texts.
struct ReturnView {
  std::string_view minion;
  std::string_view ret;  ///< JSON
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

/// What a load survives after the call.
enum class Durability {
  committed,  ///< the end of the process
  durable,    ///< a power cut, too
};

/// Selects jobs, in the order of their jids, which is the order of their times. An empty text is no
/// condition.
struct JobQuery {
  std::string first{};        ///< the least jid
  std::string last{};         ///< the greatest jid
  std::string after{};        ///< only greater jids
  std::string before{};       ///< only smaller jids
  std::string fun{};          ///< only jobs of this function alone
  bool newest_first = false;  ///< else oldest first
};

/// Takes one load; returns false to end the walk. Must not call the returner.
using LoadVisitor = std::function<bool(const Load&)>;

/// Receives what all hosts do that share a job cache. One thread of the `Watch` calls it. The calls must be
/// quick, and must not call the watch. Abstract because each engine makes its own events.
class ClusterListener {
 public:
  virtual ~ClusterListener() = default;

  /// Returns whether the watch continues. It asks several times a second, from the fourth second after
  /// `Watch::start` on, and ends when the answer is no.
  [[nodiscard]] virtual bool wanted() = 0;

  /// A new job: its load was stored for the first time, by any process, host, or Salt itself.
  virtual void job(const Load& load) = 0;

  /// A new return, or a changed one. It follows its job. If the job is gone, `load` has only its jid,
  /// function and arguments.
  virtual void returned(const Load& load, const JobReturn& ret) = 0;

  /// An event of another process.
  virtual void event(std::string_view tag, const Json& data, std::string_view user) = 0;

  /// Some of the above may be missing, for this reason. The watch continues.
  virtual void lost(const std::string& reason) = 0;
};

/// A watch of one job cache: passes jobs, returns and events of all processes on, in order and once. A lost
/// connection or member loses nothing. Thread-safe. It has a thread and a connection only while the listener
/// wants it. The destructor waits for the thread: less than a second, or longer if etcd does not answer.
class Watch {
 public:
  virtual ~Watch() = default;

  /// Starts the watch, or leaves it running. After the return, everything that any process does is passed on,
  /// with one exception: if there was no listener on any host, other processes notice this one within a
  /// second, and their events of that second are missing.
  /// Errors: those of the job cache, which stand for a second; unavailable, if another thread has waited for
  /// the cluster for a second. Nothing is passed on then.
  [[nodiscard]] virtual Result<void> start(SteadyTime deadline) = 0;

  /// Sends an event to the listeners of other processes, without waiting. Writes nothing if there are none. A
  /// listener gets `lost` for an event that could not be sent. `data` is an object, and holds no secret.
  virtual void publish(std::string_view tag, const Json& data, std::string_view user) = 0;
};

/// A job cache, with the names of Salt's returner interface. Abstract because SQLite or etcd keeps the jobs.
/// Thread-safe. Errors of every call: unavailable, internal.
class Returner {
 public:
  virtual ~Returner() = default;

  /// Reserves a jid that a caller chose. Returns false if it is taken. Jids that are made here are new, and
  /// need no reservation.
  [[nodiscard]] virtual Result<bool> prep_jid(std::string_view passed_jid) = 0;

  /// Stores a job. It replaces an earlier load of the same jid, and keeps its returns.
  virtual Result<void> save_load(Load load, Durability durability) = 0;

  /// Stores a job with its returns so far.
  virtual Result<void> save_job(const Load& load, std::span<const ReturnView> returns) = 0;

  /// Adds minions to the job's list of minions that should return.
  virtual Result<void> save_minions(std::string_view jid, const std::vector<std::string>& minions) = 0;

  /// Stores a return; it replaces an earlier one of the minion, unless it is a placeholder. A return without
  /// a job is dropped.
  virtual Result<void> returner(std::string_view jid, JobReturn ret) = 0;

  /// Returns a job; absent if it is not stored.
  [[nodiscard]] virtual Result<std::optional<Load>> get_load(std::string_view jid) const = 0;

  /// Returns the returns so far, in the order of the minions' ids; none for an unknown job.
  [[nodiscard]] virtual Result<std::vector<JobReturn>> get_jid(std::string_view jid) const = 0;

  /// Visits the selected loads. The cost depends on the visited jobs, not on the stored ones.
  [[nodiscard]] virtual Result<void> get_jids(const JobQuery& query, const LoadVisitor& visit) const = 0;

  /// Waits until all earlier calls survive a power cut.
  virtual Result<void> flush() = 0;

  /// Makes a watch that is not started. The listener must outlive it. Null if no other host shares this job
  /// cache.
  [[nodiscard]] virtual Result<std::unique_ptr<Watch>> watch(ClusterListener& listener);
};

/// Some of the selected loads.
struct LoadPage {
  std::vector<Load> loads;
  std::optional<JobQuery> rest;  ///< selects the following loads; absent: there are none
};

/// Returns the first `most` selected loads. Between two pages no resource of the job cache is held.
/// Errors: those of `get_jids`. REQUIRES: `most` is not 0.
[[nodiscard]] Result<LoadPage> get_page(const Returner& cache, JobQuery query, std::size_t most);

}  // namespace rest_fcgi::returner

// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/etcd/client.h"
#include "rest_fcgi/etcd/options.h"
#include "rest_fcgi/returner/returner.h"
#include "returner/etcd/layout.h"
#include "returner/etcd/store.h"

namespace rest_fcgi::returner {

/// The time to live of the key of a listener and of the key with a process's events.
inline constexpr std::chrono::seconds kListeningTtl{120};

/// One put in etcd.
struct EtcdChange {
  std::string key;
  std::string value;
  bool is_new = false;   ///< the key did not exist before this put
  bool is_same = false;  ///< the key had this value before this put
  std::int64_t revision = 0;
};

/// Receives the puts below a folder through API v3. The class is abstract for tests. Not synchronized.
/// Errors: those of `etcd::Client`.
class EtcdChanges {
 public:
  virtual ~EtcdChanges() = default;

  /// Begins to receive changes. The first change is the next put in etcd.
  [[nodiscard]] virtual Result<void> begin(etcd::Deadline deadline) = 0;

  /// Returns all changes of the next transaction; an empty list if the deadline comes first. Errors:
  /// invocation, if etcd compacted the next changes; then the caller has to call `begin` again. After other
  /// errors the next call continues without loss. REQUIRES: `begin` succeeded.
  [[nodiscard]] virtual Result<std::vector<EtcdChange>> next(etcd::Deadline deadline) = 0;

  /// Returns the value of a key at a revision. For revision 0 and for a compacted revision, it is the present
  /// value.
  [[nodiscard]] virtual Result<std::optional<std::string>> value_at(const std::string& key,
                                                                    std::int64_t revision,
                                                                    etcd::Deadline deadline) = 0;
};

/// Makes a receiver of the changes below `folder`, which ends with a slash. Opens no connection. Errors:
/// configuration.
[[nodiscard]] Result<std::unique_ptr<EtcdChanges>> make_etcd_changes(const etcd::Options& options,
                                                                     std::string folder);

/// Turns changes in etcd into jobs and returns, and passes them to a listener. Salt writes a return key by
/// key. Therefore a return is passed on when all its fields have arrived, or when no field has arrived for a
/// second. A return that arrives before its load waits for the load. Not synchronized.
class WatchedJobs {
 public:
  /// Returns the value of a key at a revision. For revision 0 it is the present value.
  using LookUp =
      std::function<Result<std::optional<std::string>>(const std::string& key, std::int64_t revision)>;

  /// The listener must outlive this object.
  WatchedJobs(const EtcdOptions& options, ClusterListener& listener, LookUp look_up);

  /// Processes the changes of one transaction. Ignores changes that belong to no job. If a load cannot be
  /// read, `settle` tries again.
  void take(const std::vector<EtcdChange>& changes, SteadyTime now);

  /// Passes on the returns that have waited long enough. Calls `lost` of the listener if their loads could
  /// not be read.
  void settle(SteadyTime now);

  /// Forgets incomplete returns. To be called when changes are missing.
  void forget() { pending_.clear(); }

 private:
  using Place = std::pair<std::string, std::string>;  // jid and minion
  struct Pending {
    // The decoded fields of the return by their names.
    std::map<std::string, std::string, std::less<>> fields{};
    bool differs = false;  // at least one put changed a value
    bool is_whole = false;
    std::int64_t revision = 0;
    SteadyTime first{};
    SteadyTime last{};
  };
  using Returns = std::map<Place, Pending>;

  void take_load(const std::string& jid, const EtcdChange& change);
  /// Passes a return on and forgets it. A return without a load stays pending, unless `needs_no_load` is set.
  /// Returns an iterator to the next pending return.
  Returns::iterator pass_on(Returns::iterator pending, bool needs_no_load);
  /// Returns the load of a job; null if etcd has no load of this job.
  Result<const Load*> find(const std::string& jid, std::int64_t revision);

  const EtcdLayout layout_;
  ClusterListener& listener_;
  const LookUp look_up_;
  Returns pending_;
  RecentJobs<std::string, Load> jobs_;
  std::string look_up_error_;  // why a load could not be read since the last `settle`
  SteadyTime settled_at_{};
};

/// Reports to the watch that the job cache lost a job or a return. Thread-safe.
class EtcdLosses {
 public:
  void report() {
    const std::lock_guard lock(mutex_);
    if (callback_) callback_();
  }
  /// Replaces the callback. When this call returns, the earlier callback is not running and will not be
  /// called.
  void set_callback(std::function<void()> callback) {
    const std::lock_guard lock(mutex_);
    callback_ = std::move(callback);
  }

 private:
  std::mutex mutex_;
  std::function<void()> callback_;  // guarded by mutex_
};

/// Makes a watch without starting it. `events` has the time to live `kListeningTtl`. `name` is the name of
/// this process. The listener must outlive the watch.
[[nodiscard]] std::unique_ptr<Watch> make_etcd_watch(const EtcdOptions& options, const std::string& name,
                                                     std::unique_ptr<EtcdChanges> changes,
                                                     std::unique_ptr<EtcdStore> events,
                                                     std::shared_ptr<EtcdLosses> losses,
                                                     ClusterListener& listener);

}  // namespace rest_fcgi::returner

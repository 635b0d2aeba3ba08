// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/etcd/client.h"
#include "rest_fcgi/etcd/options.h"
#include "rest_fcgi/returner/returner.h"
#include "returner/etcd/layout.h"
#include "returner/etcd/store.h"

namespace rest_fcgi::returner {

/// The time to live of two keys in etcd: the key that shows that a process has a listener, and the key with
/// the last events of a process.
inline constexpr std::chrono::seconds kListeningTtl{120};

struct EtcdChange {
  std::string key;
  std::string value;
  bool is_new = false;   ///< `is_new` says that the key did not exist before the put.
  bool is_same = false;  ///< `is_same` says that the key had the same value before the put.
  std::int64_t revision = 0;
};

/// Receives the puts to all keys below a folder, through API v3 of etcd. Errors: those of `etcd::Client`. Not
/// synchronized.
class EtcdChanges {
 public:
  virtual ~EtcdChanges() = default;

  /// Begins to receive changes. `next` returns only puts that come after this call.
  virtual Result<void> begin(etcd::Deadline deadline) = 0;

  /// Waits for the next transaction and returns its changes. Returns an empty list at the deadline. The
  /// error `invocation` means that etcd has compacted the changes. The caller then calls `begin` again. After
  /// other errors (those of `etcd::Client`), the next call continues without loss. REQUIRES: `begin`
  /// succeeded.
  virtual Result<std::vector<EtcdChange>> next(etcd::Deadline deadline) = 0;

  /// Returns the value of a key at a revision. Returns the present value if the revision is 0 or compacted.
  virtual Result<std::optional<std::string>> value_at(const std::string& key, std::int64_t revision,
                                                      etcd::Deadline deadline) = 0;
};

/// Makes a receiver of the changes below `folder`. `folder` ends with a slash. Opens no connection.
Result<std::unique_ptr<EtcdChanges>> make_etcd_changes(const etcd::Options& options, std::string folder);

/// Turns changes in etcd into jobs and minions' returns, and passes the jobs and returns to a listener. Salt
/// writes each field of a return to a separate key. The listener gets a return when all fields have arrived.
/// If fields are missing, it gets the return a second after the newest field. A return that arrives before
/// the load of its job waits for the load. Not synchronized.
class WatchedJobs {
 public:
  /// A function that returns the value of a key at a revision. Revision 0 means the present value.
  using LookUp =
      std::function<Result<std::optional<std::string>>(const std::string& key, std::int64_t revision)>;

  WatchedJobs(const EtcdOptions& options, ClusterListener& listener, LookUp look_up);

  /// Processes the changes of one transaction. If the load of a job cannot be read, `settle` tries again.
  void take(const std::vector<EtcdChange>& changes, SteadyTime now);

  /// If a return has waited too long for a field or for the load of its job, passes the return to the
  /// listener. Calls the listener's `lost` if the load of a job cannot be read.
  void settle(SteadyTime now);

  /// Forgets the returns that still wait for fields or for a load. The caller does this after a loss of
  /// changes, because the missing fields and loads may never arrive.
  void forget() { pending_.clear(); }

 private:
  using Place = std::pair<std::string, std::string>;
  struct Pending {
    std::map<std::string, std::string, std::less<>> fields{};
    bool differs = false;  // Whether a field got a new value. If not, the listener does not get the return.
    bool is_whole = false;
    std::int64_t revision = 0;
    SteadyTime first{};
    SteadyTime last{};
  };
  using Returns = std::map<Place, Pending>;

  void take_load(const std::string& jid, const EtcdChange& change);
  /// Passes a return to the listener and returns the next pending return. If the job has no load and
  /// `needs_no_load` is false, the return stays pending.
  Returns::iterator pass_on(Returns::iterator pending, bool needs_no_load);
  Result<const Load*> find(const std::string& jid, std::int64_t revision);

  const EtcdLayout layout_;
  ClusterListener& listener_;
  const LookUp look_up_;
  Returns pending_;
  RecentJobs<std::string, Load> jobs_;
  std::string look_up_error_;
  SteadyTime settled_at_{};
};

/// Tells the watch of a job cache that the job cache lost a job or a return. Thread-safe.
class EtcdLosses {
 public:
  void report() {
    const MutexLock lock(mutex_);
    if (callback_) callback_();
  }
  /// After this call, `report` does not use the earlier function.
  void set_callback(std::function<void()> callback) {
    const MutexLock lock(mutex_);
    callback_ = std::move(callback);
  }

 private:
  Mutex mutex_;
  std::function<void()> callback_ GUARDED_BY(mutex_);
};

/// Makes a watch without starting the watch. The store `events` must give its keys the time to live
/// `kListeningTtl`. The listener must outlive the watch.
[[nodiscard]] std::unique_ptr<Watch> make_etcd_watch(const EtcdOptions& options, const std::string& name,
                                                     std::unique_ptr<EtcdChanges> changes,
                                                     std::unique_ptr<EtcdStore> events,
                                                     std::shared_ptr<EtcdLosses> losses,
                                                     ClusterListener& listener);

}  // namespace rest_fcgi::returner

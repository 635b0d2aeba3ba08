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

/// The time to live of a listener's key.
inline constexpr std::chrono::seconds kListeningTtl{120};

/// One put in etcd.
struct EtcdChange {
  std::string key;
  std::string value;
  bool is_new = false;   ///< the key did not exist before
  bool is_same = false;  ///< the key had this value before
  std::int64_t revision = 0;
};

/// The puts below a folder, with API v3. Abstract for tests. Not synchronized. Errors: those of
/// `etcd::Client`.
class EtcdChanges {
 public:
  virtual ~EtcdChanges() = default;

  /// Starts with the next put.
  [[nodiscard]] virtual Result<void> begin(etcd::Deadline deadline) = 0;

  /// Returns all changes of the next transaction; none if the deadline comes first. Errors: invocation, if
  /// etcd compacted the next changes: call `begin` again. After other errors the next call continues.
  /// REQUIRES: `begin` succeeded.
  [[nodiscard]] virtual Result<std::vector<EtcdChange>> next(etcd::Deadline deadline) = 0;

  /// Returns a key's value at a revision. At 0, and at a compacted revision, it is the present value.
  [[nodiscard]] virtual Result<std::optional<std::string>> value_at(const std::string& key,
                                                                    std::int64_t revision,
                                                                    etcd::Deadline deadline) = 0;
};

/// `folder` ends with a slash. Opens no connection. Errors: configuration.
[[nodiscard]] Result<std::unique_ptr<EtcdChanges>> make_etcd_changes(const etcd::Options& options,
                                                                     std::string folder);

/// Turns changes into jobs and returns, and passes them to a listener. Salt writes a return key by key: it is
/// passed on when all fields came, or no field came for a second. A return may come before its load, and
/// waits for it. Not synchronized.
class WatchedJobs {
 public:
  /// Returns a key's value at a revision; at 0 the present value.
  using LookUp =
      std::function<Result<std::optional<std::string>>(const std::string& key, std::int64_t revision)>;

  /// The listener must outlive it.
  WatchedJobs(const EtcdOptions& options, ClusterListener& listener, LookUp look_up);

  /// Takes the changes of one transaction, and ignores those that belong to no job. `settle` repeats failed
  /// look-ups.
  void take(const std::vector<EtcdChange>& changes, SteadyTime now);

  /// Passes returns on that have waited long enough, with `lost` if their loads could not be looked up.
  void settle(SteadyTime now);

  /// Forgets incomplete returns, since changes are missing.
  void forget() { pending_.clear(); }

 private:
  using Place = std::pair<std::string, std::string>;  // jid and minion
  struct Pending {
    std::map<std::string, std::string, std::less<>> fields{};  // decoded fields of the return, by name
    bool differs = false;                                      // at least one field was changed
    bool is_whole = false;
    std::int64_t revision = 0;
    SteadyTime first{};
    SteadyTime last{};
  };
  using Returns = std::map<Place, Pending>;

  void take_load(const std::string& jid, const EtcdChange& change);
  /// Passes a return on and forgets it. Without a load it stays, unless `needs_no_load`. Returns the next
  /// one.
  Returns::iterator pass_on(Returns::iterator pending, bool needs_no_load);
  /// Returns a load; null if etcd has none.
  Result<const Load*> find(const std::string& jid, std::int64_t revision);

  const EtcdLayout layout_;
  ClusterListener& listener_;
  const LookUp look_up_;
  Returns pending_;
  RecentJobs<std::string, Load> jobs_;
  std::string look_up_error_;  // since the last `settle`
  SteadyTime settled_at_{};
};

/// Reports lost jobs and returns of the job cache to its watch. Thread-safe.
class EtcdLosses {
 public:
  void report() {
    const std::lock_guard lock(mutex_);
    if (callback_) callback_();
  }
  /// After the return, an earlier callback does not run.
  void set_callback(std::function<void()> callback) {
    const std::lock_guard lock(mutex_);
    callback_ = std::move(callback);
  }

 private:
  std::mutex mutex_;
  std::function<void()> callback_;  // guarded by mutex_
};

/// Makes a watch that is not started. `events` has the time to live `kListeningTtl`. `name` is that of this
/// process. The listener must outlive the watch.
[[nodiscard]] std::unique_ptr<Watch> make_etcd_watch(const EtcdOptions& options, const std::string& name,
                                                     std::unique_ptr<EtcdChanges> changes,
                                                     std::unique_ptr<EtcdStore> events,
                                                     std::shared_ptr<EtcdLosses> losses,
                                                     ClusterListener& listener);

}  // namespace rest_fcgi::returner

// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/etcd/client.h"
#include "rest_fcgi/etcd/options.h"
#include "rest_fcgi/returner/watch.h"
#include "returner/etcd/store.h"

namespace rest_fcgi::returner {

/// How long the key of a listener stays after it was put.
inline constexpr std::chrono::seconds kListeningTtl{120};

/// A key got a value.
struct EtcdChange {
  std::string key;
  std::string value;
  bool is_new = false;   ///< there was no such key
  bool is_same = false;  ///< it had that value before
  std::int64_t revision = 0;
};

/// The values that are put below a folder of a cluster. Abstract for tests. API v2 cannot be watched so. Not
/// synchronized. Errors are those of `etcd::Client`.
class EtcdChanges {
 public:
  virtual ~EtcdChanges() = default;

  /// Begins with what is put from now on.
  [[nodiscard]] virtual Result<void> begin(etcd::Deadline deadline) = 0;

  /// Returns the next changes, all of one transaction together; nothing where the deadline came first.
  /// Errors: invocation, where etcd has forgotten the next changes: `begin` anew then. After other errors the
  /// next call goes on with the missing changes. REQUIRES: it has begun.
  [[nodiscard]] virtual Result<std::vector<EtcdChange>> next(etcd::Deadline deadline) = 0;

  /// Returns a key's value as it was at a revision; at 0, and where etcd has forgotten the revision, its
  /// value now.
  [[nodiscard]] virtual Result<std::optional<std::string>> value_at(const std::string& key,
                                                                    std::int64_t revision,
                                                                    etcd::Deadline deadline) = 0;
};

/// `folder` ends with a slash. Opens no connection. Errors: configuration.
[[nodiscard]] Result<std::unique_ptr<EtcdChanges>> make_etcd_changes(const etcd::Options& options,
                                                                     std::string folder);

/// Passes on that a job cache lost a job or return, of which no listener can hear. Thread-safe.
class EtcdLosses {
 public:
  void tell() {
    const std::lock_guard lock(mutex_);
    if (hear_) hear_();
  }
  /// When this returns, the callback before is not running, and is not called again.
  void hear(std::function<void()> hear) {
    const std::lock_guard lock(mutex_);
    hear_ = std::move(hear);
  }

 private:
  std::mutex mutex_;
  std::function<void()> hear_;  // guarded by mutex_
};

/// Makes a watch of what is put in etcd. `events` keeps keys for `kListeningTtl`. No other process has this
/// `name`. The listener must outlive the watch.
[[nodiscard]] std::unique_ptr<Watch> make_etcd_watch(const EtcdOptions& options, const std::string& name,
                                                     std::unique_ptr<EtcdChanges> changes,
                                                     std::unique_ptr<EtcdStore> events,
                                                     std::shared_ptr<EtcdLosses> losses,
                                                     ClusterListener& listener);

}  // namespace rest_fcgi::returner

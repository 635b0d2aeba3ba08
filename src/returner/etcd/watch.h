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

/// For how long others take it that somebody listens here.
inline constexpr std::chrono::seconds kListeningTtl{120};

/// A key got a value.
struct EtcdChange {
  std::string key;
  std::string value;
  bool is_new = false;   ///< there was no such key
  bool is_same = false;  ///< it had that value before
  std::int64_t revision = 0;
};

/// What is put below a folder of a cluster. Abstract for tests; API v2 has none. Used by one thread at a
/// time. Errors are those of `etcd::Client`.
class EtcdChanges {
 public:
  virtual ~EtcdChanges() = default;

  /// From now on, whatever it told before.
  [[nodiscard]] virtual Result<void> begin(etcd::Deadline deadline) = 0;

  /// What comes next: all of one transaction together; nothing where the deadline came first. Errors:
  /// invocation, where what was to come next is not to be had any more; `begin` anew then. After others, what
  /// is missing comes by the next call. REQUIRES: it has begun.
  [[nodiscard]] virtual Result<std::vector<EtcdChange>> next(etcd::Deadline deadline) = 0;

  /// What a key's value was when the revision was written; at 0, and where that is forgotten, as it is now.
  [[nodiscard]] virtual Result<std::optional<std::string>> value_at(const std::string& key,
                                                                    std::int64_t revision,
                                                                    etcd::Deadline deadline) = 0;
};

/// `folder` ends with a slash. Opens no connection. Errors: configuration.
[[nodiscard]] Result<std::unique_ptr<EtcdChanges>> make_etcd_changes(const etcd::Options& options,
                                                                     std::string folder);

/// Where a job cache says that it lost a job or return, which nobody will hear of then. Thread-safe.
class EtcdLosses {
 public:
  void tell() {
    const std::lock_guard lock(mutex_);
    if (hear_) hear_();
  }
  /// When this returns, the callback before is not running, and will not be called.
  void hear(std::function<void()> hear) {
    const std::lock_guard lock(mutex_);
    hear_ = std::move(hear);
  }

 private:
  std::mutex mutex_;
  std::function<void()> hear_;  // guarded by mutex_
};

/// Tells what is put in etcd. `events` keeps what it is given for `kListeningTtl`; `name` is nobody else's.
/// Borrows the listener.
[[nodiscard]] std::unique_ptr<Watch> make_etcd_watch(const EtcdOptions& options, const std::string& name,
                                                     std::unique_ptr<EtcdChanges> changes,
                                                     std::unique_ptr<EtcdStore> events,
                                                     std::shared_ptr<EtcdLosses> losses,
                                                     ClusterListener& listener);

}  // namespace rest_fcgi::returner

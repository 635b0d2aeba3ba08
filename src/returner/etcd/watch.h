// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "rest_fcgi/returner/watch.h"
#include "returner/etcd/store.h"
#include "returner/etcd/watch/changes.h"

namespace rest_fcgi::returner {

/// For how long others take it that somebody listens here.
inline constexpr std::chrono::seconds kListeningTtl{120};

/// Where a job cache says that it lost a job or return, which nobody will hear of then. Thread-safe.
class EtcdLosses {
 public:
  void tell() {
    const std::lock_guard lock(mutex_);
    if (hear_) hear_();
  }
  /// `hear` is not called any more when this is called again.
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

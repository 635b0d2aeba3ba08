// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/etcd/client.h"

namespace rest_fcgi::returner {

/// The lease of what is written with a time to live. What is written within a tenth of that time shares one,
/// which lives longer by as much, so that nothing goes too early. Thread-safe; borrows the client.
class EtcdLease {
 public:
  /// `ttl` 0: for ever, without a lease.
  EtcdLease(etcd::Client& client, std::chrono::seconds ttl);

  /// The one for what is written now; 0 where there is none. Errors: those of the client.
  [[nodiscard]] Result<std::int64_t> current(etcd::Deadline deadline);

  /// It is gone: the next call gets another one.
  void forget();

 private:
  etcd::Client& client_;
  const std::chrono::seconds ttl_;
  const std::chrono::seconds shared_;
  std::mutex mutex_;
  std::int64_t id_ = 0;                           // guarded by mutex_
  std::chrono::steady_clock::time_point use_by_;  // guarded by mutex_
};

}  // namespace rest_fcgi::returner

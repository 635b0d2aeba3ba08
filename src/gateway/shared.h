// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <mutex>

#include "gateway/body_budget.h"
#include "gateway/connections.h"
#include "gateway/streams/streams.h"
#include "gateway/thread_pool.h"
#include "rest_fcgi/core/memory.h"
#include "rest_fcgi/gateway/gateway.h"
#include "rest_fcgi/gateway/options.h"

namespace rest_fcgi::gateway {

/// The objects that the connections of both front ends use. Each thread of the pool holds a reference to
/// them. Therefore a thread that is still inside a call can outlive the gateway. Thread-safe.
class Shared {
 public:
  explicit Shared(const Options& its_options)
      : options(its_options),
        bodies(options.max_body_bytes),
        pool({options.min_threads, options.max_threads, options.max_waiting, options.idle_thread_timeout}) {}

  /// Makes new requests use `applications`. Requests that have already begun keep the old applications.
  void replace(Applications applications) {
    auto changed = std::make_shared<const Applications>(std::move(applications));
    const std::lock_guard lock(mutex_);
    applications_.swap(changed);  // destroys the old applications after the lock is released
  }

  /// Returns the current applications. The caller has to release them after each request, so that replaced
  /// applications are destroyed soon.
  [[nodiscard]] std::shared_ptr<const Applications> applications() const {
    const std::lock_guard lock(mutex_);
    return applications_;
  }

  const Options options;
  BodyBudget bodies;
  Connections http_connections;
  Connections fastcgi_connections;
  TrimWhenQuiet trim;
  ThreadPool pool;
  Streams streams;  // destroyed before the pool, because TLS uses the pool's timers

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Applications> applications_;  // guarded by mutex_
};

}  // namespace rest_fcgi::gateway

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

/// The objects that the FastCGI and HTTP servers use. The pool's threads also own these objects, because a
/// thread inside a call of an application can outlive the gateway. Thread-safe.
class Shared {
 public:
  explicit Shared(const Options& its_options)
      : options(its_options),
        bodies(options.max_body_bytes),
        pool({options.min_threads, options.max_threads, options.max_waiting, options.idle_thread_timeout}) {}

  /// Replaces the applications for new requests. Running requests keep the old applications.
  void replace(Applications applications) {
    auto changed = std::make_shared<const Applications>(std::move(applications));
    const std::lock_guard lock(mutex_);
    applications_.swap(changed);
  }

  /// Returns the current applications. The caller must release the pointer after each request, so that a
  /// reload can destroy the old applications.
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
  Streams streams;  // Streams with TLS use the pool's timers, so `streams` is destroyed before the pool.

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Applications> applications_;  // `mutex_` guards this member.
};

}  // namespace rest_fcgi::gateway

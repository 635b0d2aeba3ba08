// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "rest_fcgi/http/application.h"
#include "rest_fcgi/metrics/health.h"
#include "rest_fcgi/metrics/registry.h"

namespace rest_fcgi::metrics {

/// Makes the application of the listener for Prometheus and health checks: `GET /metrics`, `/health`, which
/// is always 200, and `/ready`, which is 200 or 503 and names each check. `health` has to outlive it.
[[nodiscard]] http::Application make_application(std::shared_ptr<const Registry> registry, Health& health);

/// Returns `application` with `/health` and `/ready` in front of it, without the checks. `health` has to
/// outlive it.
[[nodiscard]] http::Application with_health(Health& health, http::Application application);

/// Counts the requests of applications: by module, status and client, their times, and those that run. Must
/// outlive the applications. Thread-safe.
class RequestMetrics {
 public:
  /// Adds the metrics to `registry`, which has to outlive this.
  explicit RequestMetrics(Registry& registry);

  /// Returns the application with its requests counted. The label `client` is `Response::metric_label`.
  [[nodiscard]] http::Application counted(std::string module, http::Application application);

 private:
  http::Response count(const std::string& module, const http::Application& application,
                       const http::Environ& environ);

  Family<Counter>& requests_;
  Family<Histogram>& times_;
  std::atomic<std::int64_t> in_flight_ = 0;
};

}  // namespace rest_fcgi::metrics

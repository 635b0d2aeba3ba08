// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/http/application.h"
#include "rest_fcgi/metrics/health.h"
#include "rest_fcgi/metrics/registry.h"

namespace rest_fcgi::metrics {

/// Makes the application for `GET /metrics`, `/health` and `/ready`. `/health` always has status 200.
/// `/ready` has status 200 or 503 and names each check. After `Health::stop` it has status 503. `health` must
/// outlive the application.
[[nodiscard]] http::Application make_application(std::shared_ptr<const Registry> registry, Health& health);

/// Answers `/health` without waiting. Returns std::nullopt for other paths and for OPTIONS, which the
/// application answers (CORS preflight).
[[nodiscard]] std::optional<http::Response> answer_health(const http::Environ& environ);

/// Returns an application that answers `/health` and `/ready` and passes other requests to `application`. The
/// replies say only whether all checks succeeded, without the checks' names. After `Health::stop` other
/// requests get status 503. `health` must outlive the result.
[[nodiscard]] http::Application with_health(Health& health, http::Application application);

/// A function that returns `ok` if the user may read the metrics with this request, otherwise the status of
/// the reply.
using MetricsCheck = std::function<http::Status(const http::Environ&)>;

/// Returns an application that answers `GET /metrics`, if `check` allows the request, and passes other
/// requests to `application`.
[[nodiscard]] http::Application with_metrics(std::shared_ptr<const Registry> registry, MetricsCheck check,
                                             http::Application application);

/// Counts requests by module, status and client, and measures their times. Must outlive the counted
/// applications. Thread-safe.
class RequestMetrics {
 public:
  /// Adds the metrics to `registry`, which must outlive this object.
  explicit RequestMetrics(Registry& registry);

  /// Returns an application that calls `application` and counts its requests. The label `client` has the
  /// value of `Response::metric_label`.
  [[nodiscard]] http::Application counted(std::string module, http::Application application);

  /// Counts a request that the front end answered without an application.
  void count_refused(std::string_view module, http::Status status);

 private:
  Family<Counter>& requests_;
  Family<Histogram>& times_;
  std::atomic<std::int64_t> in_flight_ = 0;
};

}  // namespace rest_fcgi::metrics

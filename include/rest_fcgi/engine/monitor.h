// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "rest_fcgi/config/config.h"
#include "rest_fcgi/engine/engine.h"
#include "rest_fcgi/engine/salt_metrics.h"
#include "rest_fcgi/gateway/gateway.h"
#include "rest_fcgi/http/addresses.h"
#include "rest_fcgi/http/application.h"
#include "rest_fcgi/metrics/application.h"
#include "rest_fcgi/metrics/registry.h"

namespace rest_fcgi::engine {

/// The metrics and health checks of this process. Must outlive the applications that it returns. Thread-safe.
class Monitor {
 public:
  /// Makes a monitor. Returns null if the monitor has no reader: the configuration turns on neither metrics
  /// nor health checks, and no service manager shows the status of the service.
  [[nodiscard]] static std::unique_ptr<Monitor> make(const config::Settings& settings,
                                                     const Runtime& runtime);

  /// The checks of `/ready`.
  [[nodiscard]] metrics::Health& health() noexcept { return health_; }

  /// If metrics are on, starts to count the jobs of `master` and adds the numbers of `gateway`. REQUIRES: no
  /// earlier call, and the gateway serves no request yet.
  void observe(std::shared_ptr<master::Master> master, const gateway::Gateway& gateway);

  /// Returns an application that passes requests to `application` and counts them, if metrics are on. The
  /// parameter `module` is the value of the counters' label `module`.
  [[nodiscard]] http::Application counted(std::string_view module, http::Application application) {
    if (!has_metrics_) return application;
    return requests_.counted(std::string(module), std::move(application));
  }

  void count_refused(std::string_view module, http::Status status) {
    requests_.count_refused(module, status);
  }

  /// Returns the application for the port that Prometheus reads.
  [[nodiscard]] http::Application application() { return metrics::make_application(registry_, health_); }

  /// Returns an application that answers `GET /metrics` and passes other requests to `application`. The user
  /// must have the rule `@metrics` of `master`, and the client's address must be in `authorized`.
  [[nodiscard]] http::Application with_metrics(std::shared_ptr<master::Master> master,
                                               http::Addresses authorized, http::Application application);

  /// Returns an application that answers `/health` and `/ready` and passes other requests to `application`.
  [[nodiscard]] http::Application with_health(http::Application application) {
    return metrics::with_health(health_, std::move(application));
  }

 private:
  Monitor(const config::Settings& settings, Runtime runtime);
  void add_metrics(const gateway::Options& gateway);
  void add_checks(const config::Settings& settings);

  const bool has_metrics_;
  const Runtime runtime_;
  const std::shared_ptr<metrics::Registry> registry_ = std::make_shared<metrics::Registry>();
  metrics::RequestMetrics requests_{*registry_};
  const std::shared_ptr<SaltMetrics> salt_;
  std::unique_ptr<EventCounter>
      events_;  // The counter of a real master's events. Null for the engine `embedded`.
  metrics::Health health_{
      system_clock()};  // This member is destroyed first, so the checks end before the other members.
};

}  // namespace rest_fcgi::engine

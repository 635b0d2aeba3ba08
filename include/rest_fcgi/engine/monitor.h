// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rest_fcgi/config/config.h"
#include "rest_fcgi/engine/engine.h"
#include "rest_fcgi/engine/salt_metrics.h"
#include "rest_fcgi/http/application.h"
#include "rest_fcgi/metrics/application.h"
#include "rest_fcgi/metrics/registry.h"

namespace rest_fcgi::engine {

/// The metrics and health checks of this process. Must outlive the applications that it returns. Thread-safe.
class Monitor {
 public:
  /// Makes a monitor. Returns null if the configuration has neither `rest_fcgi: metrics: listen` nor
  /// `rest_fcgi: health`.
  [[nodiscard]] static std::unique_ptr<Monitor> make(const config::Settings& settings,
                                                     const Runtime& runtime);

  /// Registers `collect`, which is called each time that the text of the metrics is made. Call `on_collect`
  /// before there are requests.
  void on_collect(std::function<void(metrics::Writer&)> collect) {
    registry_->on_collect(std::move(collect));
  }

  /// Adds a check to `/ready`. Call `add_check` before there are requests.
  void add_check(std::string name, metrics::Health::Probe probe) {
    health_.add(std::move(name), std::move(probe));
  }

  /// Starts to count jobs. Call `observe` before there are requests. `master` is the master of the first
  /// configuration.
  void observe(std::shared_ptr<master::Master> master);

  /// Returns an application that counts each request and passes it to `application`. `module` is the label of
  /// the counters.
  [[nodiscard]] http::Application counted(std::string_view module, http::Application application) {
    return requests_.counted(std::string(module), std::move(application));
  }

  /// Returns the application for the port that Prometheus reads.
  [[nodiscard]] http::Application application() { return metrics::make_application(registry_, health_); }

  /// Returns an application that answers `/health` and `/ready` and passes all other requests to
  /// `application`.
  [[nodiscard]] http::Application with_health(http::Application application) {
    return metrics::with_health(health_, std::move(application));
  }

 private:
  Monitor(const config::Settings& settings, Runtime runtime);
  void add_engine_checks(const config::Settings& settings);

  const Runtime runtime_;
  const std::shared_ptr<metrics::Registry> registry_ = std::make_shared<metrics::Registry>();
  metrics::RequestMetrics requests_{*registry_};
  const std::shared_ptr<SaltMetrics> salt_ = std::make_shared<SaltMetrics>(registry_, system_clock());
  std::unique_ptr<EventCounter> events_;    // counts events of a real master; null for the engine `embedded`
  metrics::Health health_{system_clock()};  // destroyed first, so that checks end before the other members
};

}  // namespace rest_fcgi::engine

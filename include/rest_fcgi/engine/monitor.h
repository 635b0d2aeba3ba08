// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "rest_fcgi/config/config.h"
#include "rest_fcgi/engine/engine.h"
#include "rest_fcgi/http/application.h"
#include "rest_fcgi/metrics/application.h"
#include "rest_fcgi/metrics/registry.h"

namespace rest_fcgi::engine {

/// The metrics of this process. Lives as long as its threads. Thread-safe.
class Monitor {
 public:
  /// Returns null if the configuration has no `rest_fcgi: metrics: listen`.
  [[nodiscard]] static std::unique_ptr<Monitor> make(const config::Settings& settings,
                                                     const Runtime& runtime);

  /// Returns the application with its requests counted.
  [[nodiscard]] http::Application counted(std::string_view module, http::Application application) {
    return requests_.counted(std::string(module), std::move(application));
  }

  /// Returns the application of the listener for Prometheus.
  [[nodiscard]] http::Application application() const { return metrics::make_application(registry_); }

 private:
  explicit Monitor(Runtime runtime);

  const Runtime runtime_;
  const std::shared_ptr<metrics::Registry> registry_ = std::make_shared<metrics::Registry>();
  metrics::RequestMetrics requests_{*registry_};
};

}  // namespace rest_fcgi::engine

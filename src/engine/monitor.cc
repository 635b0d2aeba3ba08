// SPDX-License-Identifier: MIT
#include "rest_fcgi/engine/monitor.h"

#include <utility>

#include "rest_fcgi/core/version.h"

namespace rest_fcgi::engine {

std::unique_ptr<Monitor> Monitor::make(const config::Settings& settings, const Runtime& runtime) {
  if (!settings.front_ends.metrics) return nullptr;
  return std::unique_ptr<Monitor>(new Monitor(runtime));
}

Monitor::Monitor(Runtime runtime) : runtime_(std::move(runtime)) {
  const std::string_view engine = std::holds_alternative<SaltEngine>(runtime_.engine) ? "salt" : "embedded";
  registry_->on_collect([engine](metrics::Writer& writer) {
    writer.metric(metrics::Type::gauge, "rest_fcgi_build_info", "Version and engine of this program.");
    writer.sample({{"version", kVersion}, {"engine", engine}}, 1);
  });
  metrics::add_process_metrics(*registry_);
}

}  // namespace rest_fcgi::engine

// SPDX-License-Identifier: MIT
#include "rest_fcgi/engine/monitor.h"

#include <utility>

#include "rest_fcgi/core/version.h"
#include "rest_fcgi/returner/returners.h"

namespace rest_fcgi::engine {
namespace {

/// Writes a row, so that a full or locked disk is noticed.
Result<void> write_to(store::Store& store) {
  const auto done = store.execute(
      "INSERT INTO meta (name, value) VALUES ('health', 1) ON CONFLICT DO UPDATE SET value = value % 1000 + "
      "1");
  return done ? Result<void>() : done.error();
}

}  // namespace

std::unique_ptr<Monitor> Monitor::make(const config::Settings& settings, const Runtime& runtime) {
  if (!settings.front_ends.metrics && !settings.front_ends.health) return nullptr;
  return std::unique_ptr<Monitor>(new Monitor(settings, runtime));
}

Monitor::Monitor(const config::Settings& settings, Runtime runtime) : runtime_(std::move(runtime)) {
  const std::string_view engine = std::holds_alternative<SaltEngine>(runtime_.engine) ? "salt" : "embedded";
  registry_->on_collect([engine](metrics::Writer& writer) {
    writer.metric(metrics::Type::gauge, "rest_fcgi_build_info", "Version and engine of this program.");
    writer.sample({{"version", kVersion}, {"engine", engine}}, 1);
  });
  metrics::add_process_metrics(*registry_);
  add_engine_checks(settings);
}

void Monitor::observe(std::shared_ptr<master::Master> master) {
  if (const auto* embedded = std::get_if<std::shared_ptr<embedded::Runtime>>(&runtime_.engine)) {
    (*embedded)->observe(salt_);
  } else {
    events_ = std::make_unique<EventCounter>(std::move(master), salt_);
  }
}

void Monitor::add_engine_checks(const config::Settings& settings) {
  add_check("store", [this](SteadyTime) { return write_to(*runtime_.store); });
  if (const auto* salt = std::get_if<SaltEngine>(&runtime_.engine)) {
    const std::shared_ptr<salt::Runtime> master = salt->runtime;
    add_check("master", [master](SteadyTime deadline) { return master->ping_master(deadline); });
    add_check("event_bus", [master](SteadyTime) { return master->check_event_bus(); });
  }
  const returner::EtcdOptions& jobs = settings.returner.etcd;
  if (jobs.is_chosen) add_check("etcd_jobs", returner::make_etcd_probe(jobs.writing, jobs.require_v2));
  if (const auto& tokens = settings.auth.tokens_in_etcd)
    add_check("etcd_tokens", returner::make_etcd_probe(tokens->cluster, false));
}

}  // namespace rest_fcgi::engine

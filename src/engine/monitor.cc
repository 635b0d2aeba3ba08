// SPDX-License-Identifier: MIT
#include "rest_fcgi/engine/monitor.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "rest_fcgi/core/version.h"
#include "rest_fcgi/returner/returners.h"

namespace rest_fcgi::engine {
namespace {

/// Writes a row to the store. The write fails if the disk is full or the database is locked.
Result<void> write_to(store::Store& store) {
  const auto done = store.execute(
      "INSERT INTO meta (name, value) VALUES ('health', 1) ON CONFLICT DO UPDATE SET value = value % 1000 + "
      "1");
  return done ? Result<void>() : done.error();
}

/// A metric that one SQL query reads from the store.
struct StoreNumber {
  const char* name;
  const char* help;
  const char* sql;
};
constexpr StoreNumber kStoreNumbers[] = {
    {"rest_fcgi_jobs_running", "Jobs that run on worker threads of all processes of the store.",
     "SELECT count(*) FROM running_job"},
    {"rest_fcgi_login_failures", "Failed logins that the login guard remembers now.",
     "SELECT total(failures) FROM login_failure"},
    {"rest_fcgi_outbox_writes", "Writes that wait for etcd.", "SELECT count(*) FROM outbox"},
    {"rest_fcgi_outbox_bytes", "Size of the writes that wait for etcd.",
     "SELECT value FROM meta WHERE name = 'outbox_bytes'"},
    {"rest_fcgi_outbox_oldest_seconds", "Age of the oldest write that waits for etcd.",
     "SELECT coalesce(max(0, unixepoch() - (SELECT stamp FROM outbox ORDER BY id LIMIT 1) / 1000000), 0)"},
};

void write_store(metrics::Writer& writer, store::Store& store) {
  writer.gauge("rest_fcgi_store_writable", "Whether the last write to the database succeeded.",
               store.is_writable() ? 1 : 0);
  if (const auto bytes = store.used_bytes())
    writer.gauge("rest_fcgi_store_bytes", "Size of the database in use.", static_cast<double>(*bytes));
  for (const StoreNumber& one : kStoreNumbers) {
    std::optional<std::int64_t> value;
    const auto read = store.read([&](store::Connection& connection) -> Result<void> {
      auto found = connection.number(one.sql);
      if (!found) return std::move(found).error();
      value = *found;
      return {};
    });
    if (read && value) writer.gauge(one.name, one.help, static_cast<double>(*value));
  }
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
  registry_->on_collect([this](metrics::Writer& writer) {
    write_store(writer, *runtime_.store);
    if (const auto* salt = std::get_if<SaltEngine>(&runtime_.engine)) {
      writer.gauge("rest_fcgi_event_bus_joined", "Whether the event bus of the Salt master is joined.",
                   salt->runtime->check_event_bus() ? 1 : 0);
    }
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

// SPDX-License-Identifier: MIT
#include "rest_fcgi/engine/monitor.h"

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <utility>

#include "rest_fcgi/core/text.h"
#include "rest_fcgi/core/version.h"
#include "rest_fcgi/engine/service.h"
#include "rest_fcgi/gateway/certificates.h"
#include "rest_fcgi/returner/returners.h"

namespace rest_fcgi::engine {
namespace {

using returner::WriteCounts;

const WriteCounts* writes_of(const Runtime& runtime) {
  if (const auto* salt = std::get_if<SaltEngine>(&runtime.engine))
    return salt->recorder ? &salt->recorder->writes() : nullptr;
  return &std::get<std::shared_ptr<embedded::Runtime>>(runtime.engine)->writes();
}

void write_job_counts(metrics::Writer& writer, const WriteCounts& writes) {
  using What = WriteCounts::What;
  writer.counter("rest_fcgi_jobs_stored_total", "Jobs that were written to a job cache.",
                 writes.stored(What::job));
  writer.counter("rest_fcgi_returns_stored_total",
                 "Returns that were written to a job cache after their job.",
                 writes.stored(What::one_return));
  writer.counter("rest_fcgi_job_writes_failed_total",
                 "Writes of jobs and returns to a job cache that failed.",
                 writes.failed(What::job) + writes.failed(What::one_return));
}

void write_logins(metrics::Writer& writer, const auth::LoginCounts& counts) {
  using What = auth::LoginCounts::What;
  writer.metric(metrics::Type::counter, "rest_fcgi_logins_total", "Logins with a password, by result.");
  writer.sample({{"result", "accepted"}}, counts.count(What::accepted));
  writer.sample({{"result", "refused"}}, counts.count(What::refused));
  writer.sample({{"result", "throttled"}}, counts.count(What::throttled));
  writer.sample({{"result", "failed"}}, counts.count(What::failed));
}

void write_master(metrics::Writer& writer, salt::Runtime& master) {
  writer.gauge("rest_fcgi_event_bus_joined",
               "Whether rest_fcgi is connected to the event bus of the Salt master.",
               master.check_event_bus() ? 1 : 0);
  const salt::RequestStatistics numbers = master.statistics();
  writer.metric(metrics::Type::gauge, "rest_fcgi_master_connections", "Connections to the Salt master.");
  writer.sample({{"state", "busy"}}, numbers.busy);
  writer.sample({{"state", "idle"}}, numbers.idle);
  writer.gauge("rest_fcgi_master_requests_waiting", "Requests that wait for a connection to the Salt master.",
               numbers.waiting);
}

/// Checks that the store can be written. A write fails if the disk is full or the database is locked. In a
/// partly corrupt database, this write may succeed although others fail.
Result<void> write_to(store::Store& store) {
  const auto done = store.execute(
      "INSERT INTO meta (name, value) VALUES ('health', 1) ON CONFLICT DO UPDATE SET value = value % 1000 + "
      "1");
  if (!done) return done.error();
  if (store.is_writable()) return {};
  return Error{ErrorKind::unavailable, "the database is corrupt; the log has the reason"};
}

void write_certificates(metrics::Writer& writer, const gateway::Options& options) {
  const auto all = gateway::certificate_times(options);
  if (!all) return;
  writer.metric(metrics::Type::gauge, "rest_fcgi_certificate_expiry_timestamp_seconds",
                "Unix timestamp of the time when the certificate of a port expires.");
  for (const gateway::CertificateTimes& one : *all) {
    const auto until = std::chrono::duration_cast<std::chrono::seconds>(one.until.time_since_epoch());
    writer.sample({{"module", one.name}}, until.count());
  }
}

void write_gateway(metrics::Writer& writer, const gateway::Statistics& numbers) {
  writer.gauge("rest_fcgi_threads", "Threads that answer requests.", numbers.threads);
  writer.gauge("rest_fcgi_requests_waiting", "Requests that wait for a thread.", numbers.waiting);
  writer.metric(metrics::Type::gauge, "rest_fcgi_connections", "Open connections.");
  writer.sample({{"protocol", "http"}}, numbers.http_connections);
  writer.sample({{"protocol", "fastcgi"}}, numbers.fastcgi_connections);
  writer.gauge("rest_fcgi_http_connections_left",
               "HTTP connections that can still be opened without closing one that waits for its client.",
               numbers.http_connections_left);
  writer.gauge("rest_fcgi_streams", "Open event streams.", numbers.streams);
  writer.counter("rest_fcgi_streams_closed_slow_total",
                 "Event streams closed because their clients read too slowly.", numbers.slow_streams);
}

struct StoreNumber {
  const char* name;
  const char* help;
  const char* sql;
};
constexpr StoreNumber kJobsRunning = {"rest_fcgi_jobs_running", "Jobs on worker threads of this process.",
                                      "SELECT count(*) FROM running_job WHERE pid = ?"};
constexpr StoreNumber kStoreNumbers[] = {
    {"rest_fcgi_login_failures", "Failed logins that the login guard remembers now.",
     "SELECT total(failures) FROM login_failure"},
    {"rest_fcgi_outbox_writes", "Writes that wait for etcd.", "SELECT count(*) FROM outbox"},
    {"rest_fcgi_outbox_bytes", "Size of the writes that wait for etcd.",
     "SELECT value FROM meta WHERE name = 'outbox_bytes'"},
    {"rest_fcgi_outbox_oldest_seconds", "Age of the oldest write that waits for etcd.",
     "SELECT coalesce(max(0, unixepoch() - (SELECT stamp FROM outbox ORDER BY id LIMIT 1) / 1000000), 0)"},
};

void write_number(metrics::Writer& writer, store::Connection& connection, const StoreNumber& one,
                  const auto&... parameters) {
  const auto value = connection.number(one.sql, parameters...);
  if (value && *value) writer.gauge(one.name, one.help, **value);
}

void write_store(metrics::Writer& writer, store::Store& store) {
  writer.gauge("rest_fcgi_store_writable", "Whether the last write to the database succeeded.",
               store.is_writable() ? 1 : 0);
  if (const auto bytes = store.used_bytes())
    writer.gauge("rest_fcgi_store_bytes", "Size of the database in use.", *bytes);
  static_cast<void>(store.read_long([&](store::Connection& connection) -> Result<void> {
    write_number(writer, connection, kJobsRunning, std::int64_t{::getpid()});
    for (const StoreNumber& one : kStoreNumbers) write_number(writer, connection, one);
    return {};
  }));
}

/// Prometheus sends the token as `Authorization: Bearer TOKEN`, other clients as `X-Auth-Token: TOKEN`.
SecretView token_of(const http::Environ& environ) {
  static constexpr std::string_view kBearer = "Bearer ";
  std::string_view token = environ.get("HTTP_X_AUTH_TOKEN");
  const std::string_view authorization = environ.get("HTTP_AUTHORIZATION");
  if (token.empty() && authorization.starts_with(kBearer)) token = authorization.substr(kBearer.size());
  constexpr std::size_t kMost = 256;
  return SecretView(token.size() <= kMost && only_of(token, kHexDigits) ? token : std::string_view());
}

}  // namespace

std::unique_ptr<Monitor> Monitor::make(const config::Settings& settings, const Runtime& runtime) {
  const config::FrontEnds& front_ends = settings.front_ends;
  const bool is_asked = front_ends.metrics || front_ends.has_metrics_on_api || front_ends.health;
  if (!is_asked && !has_service_manager()) return nullptr;
  return std::unique_ptr<Monitor>(new Monitor(settings, runtime));
}

Monitor::Monitor(const config::Settings& settings, Runtime runtime)
    : has_metrics_(settings.front_ends.metrics || settings.front_ends.has_metrics_on_api),
      runtime_(std::move(runtime)),
      salt_(std::make_shared<SaltMetrics>(registry_, system_clock(), settings.front_ends.ignores_tests)) {
  if (has_metrics_) add_metrics(settings.gateway);
  add_checks(settings);
}

void Monitor::add_metrics(const gateway::Options& gateway) {
  const std::string_view engine = std::holds_alternative<SaltEngine>(runtime_.engine) ? "salt" : "embedded";
  registry_->on_collect([engine](metrics::Writer& writer) {
    writer.metric(metrics::Type::gauge, "rest_fcgi_build_info", "Version and engine of this program.");
    writer.sample({{"version", kVersion}, {"engine", engine}}, 1);
  });
  registry_->on_collect([this](metrics::Writer& writer) {
    write_store(writer, *runtime_.store);
    write_logins(writer, *runtime_.logins);
    writer.counter("rest_fcgi_idempotency_replays_total",
                   "Replies that were sent again to repeated requests with an Idempotency-Key.",
                   runtime_.request_keys->replays.load());
    writer.counter("rest_fcgi_idempotency_conflicts_total",
                   "Requests with an Idempotency-Key of an earlier request that got 409 or 422.",
                   runtime_.request_keys->conflicts.load());
    if (const WriteCounts* writes = writes_of(runtime_)) write_job_counts(writer, *writes);
    if (const auto* salt = std::get_if<SaltEngine>(&runtime_.engine)) write_master(writer, *salt->runtime);
  });
  runtime_.store->observe_commits(
      [registry = registry_,
       &times = registry_->histograms({"rest_fcgi_store_commit_duration_seconds",
                                       "Time of a commit. durable: whether it waited for an fsync.",
                                       {"durable"}})](std::chrono::nanoseconds time, bool is_durable) {
        times.with({is_durable ? "true" : "false"}).observe(time);
      });
  registry_->on_collect([this](metrics::Writer& writer) {
    const std::vector<metrics::Check> checks = health_.checks();
    writer.metric(metrics::Type::gauge, "rest_fcgi_ready", "Whether a check of /ready succeeds.");
    for (const metrics::Check& check : checks) writer.sample({{"check", check.name}}, check.ok ? 1 : 0);
  });
  metrics::add_process_metrics(*registry_);
  registry_->on_collect([gateway](metrics::Writer& writer) { write_certificates(writer, gateway); });
}

void Monitor::observe(std::shared_ptr<master::Master> master, const gateway::Gateway& gateway) {
  if (!has_metrics_) return;
  registry_->on_collect([&gateway](metrics::Writer& writer) { write_gateway(writer, gateway.statistics()); });
  if (const auto* embedded = std::get_if<std::shared_ptr<embedded::Runtime>>(&runtime_.engine)) {
    (*embedded)->observe(salt_);
  } else {
    for (const std::string& minion : std::get<SaltEngine>(runtime_.engine).runtime->accepted_minions())
      salt_->add_minion(minion);
    events_ = std::make_unique<EventCounter>(std::move(master), salt_);
  }
}

http::Application Monitor::with_metrics(std::shared_ptr<master::Master> master, http::Addresses authorized,
                                        http::Application application) {
  const auto check = [master = std::move(master),
                      authorized = std::move(authorized)](const http::Environ& environ) {
    if (!authorized.has(environ.get("REMOTE_ADDR"))) return http::Status::forbidden;
    const SecretView token = token_of(environ);
    if (token.size() == 0) return http::Status::unauthorized;
    constexpr std::chrono::seconds kTimeout{5};
    const auto session = master->session(token, system_clock().steady() + kTimeout);
    if (session) return session->can_read_metrics ? http::Status::ok : http::Status::unauthorized;
    const bool is_refused = session.error().kind == ErrorKind::authentication;
    return is_refused ? http::Status::unauthorized : http::Status::service_unavailable;
  };
  return metrics::with_metrics(registry_, check, std::move(application));
}

void Monitor::add_checks(const config::Settings& settings) {
  health_.add("store", [this](SteadyTime) { return write_to(*runtime_.store); });
  if (const auto* salt = std::get_if<SaltEngine>(&runtime_.engine)) {
    const std::shared_ptr<salt::Runtime> master = salt->runtime;
    health_.add("master", [master](SteadyTime deadline) { return master->ping_master(deadline); });
    health_.add("event_bus", [master](SteadyTime) { return master->check_event_bus(); });
  }
  const returner::EtcdOptions& jobs = settings.returner.etcd;
  if (jobs.is_chosen)
    health_.add("etcd_jobs", returner::make_etcd_probe(jobs.writing, jobs.require_v2, jobs.root));
  if (const auto& tokens = settings.auth.tokens_in_etcd)
    health_.add("etcd_tokens", returner::make_etcd_probe(tokens->cluster, false, tokens->root));
  health_.add("certificates", [options = settings.gateway](SteadyTime) {
    return gateway::check_certificate_times(options, system_clock().wall());
  });
}

}  // namespace rest_fcgi::engine

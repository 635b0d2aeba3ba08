// SPDX-License-Identifier: MIT
#include "rest_fcgi/engine/engine.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "rest_fcgi/auth/authenticator.h"
#include "rest_fcgi/auth/logins.h"
#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/auth/request_keys.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/engine/monitor.h"
#include "rest_fcgi/http/addresses.h"
#include "rest_fcgi/metrics/application.h"
#include "rest_fcgi/netapi/rest.h"
#include "rest_fcgi/returner/returners.h"

namespace rest_fcgi::engine {
namespace {

Result<SaltEngine> make_salt_engine(const config::Settings& settings,
                                    const std::shared_ptr<store::Store>& store) {
  auto runtime = salt::make_runtime(settings.salt, system_clock(), jid_reserve(store));
  if (!runtime) return std::move(runtime).error();
  SaltEngine salt{*std::move(runtime), std::make_shared<auth::RevocationList>(store, system_clock()),
                  nullptr};
  if (settings.returner.ext_job_cache.empty()) return salt;
  auto returners = returner::Returners::make(settings.returner, store, system_clock());
  if (!returners) return std::move(returners).error();
  salt.recorder = recording::make_recorder(*std::move(returners), system_clock());
  return salt;
}

Result<std::shared_ptr<master::Master>> make_salt_master(const config::Settings& settings,
                                                         std::unique_ptr<auth::Permissions> permissions,
                                                         const SaltEngine& salt, const Runtime& runtime) {
  auto logins =
      std::make_unique<auth::Logins>(settings.auth.login_guard, settings.auth.auth_cache_ttl, system_clock(),
                                     runtime.store, salt.revocations, runtime.logins);
  auto master = salt::make_master(settings.salt, std::move(logins), std::move(permissions), salt.runtime);
  if (!master || !salt.recorder) return master;
  return recording::make_master(*std::move(master), salt.recorder);
}

/// Reserves a range of ?2 microseconds for job ids. The range begins after the last reserved range, but not
/// before the time ?1. If the last range ends more than an hour after ?1, the clock was set back, and the
/// last range is ignored.
constexpr const char* kReserveJids =
    "INSERT INTO meta (name, value) VALUES ('jid', ?1 + ?2) ON CONFLICT DO UPDATE SET value = ?2 +"
    " CASE WHEN value > ?1 + 3600000000 THEN ?1 ELSE max(value, ?1) END RETURNING value - ?2";

Result<http::Application> make_application(netapi::Module module, const config::Settings& settings,
                                           const Api& api, const Runtime& runtime) {
  netapi::Options common = settings.netapi;
  common.refusals = runtime.refusals;
  common.request_keys = runtime.request_keys;
  if (module == netapi::Module::rest_cherrypy) {
    netapi::RestCherrypyOptions options = settings.rest_cherrypy;
    options.common = std::move(common);
    return netapi::make_rest_cherrypy(options, api.client, runtime.streams, system_clock());
  }
  if (module == netapi::Module::rest_tornado) {
    netapi::RestTornadoOptions options = settings.rest_tornado;
    options.common = std::move(common);
    return netapi::make_rest_tornado(options, api.client, runtime.streams, system_clock());
  }
  return netapi::make_rest_wsgi(common, api.client, system_clock());
}

/// Hosts that share tokens or jobs in etcd share the requests with an Idempotency-Key, too.
Result<std::shared_ptr<auth::RequestKeys>> make_request_keys(const config::Settings& settings,
                                                             const std::shared_ptr<store::Store>& store) {
  const returner::EtcdOptions& jobs = settings.returner.etcd;
  auto keys = std::make_shared<auth::RequestKeys>(store, system_clock());
  Result<void> shared;
  if (const auto& tokens = settings.auth.tokens_in_etcd) {
    shared = keys->share(*tokens);
  } else if (jobs.is_chosen && !jobs.require_v2) {
    shared = keys->share({jobs.writing, jobs.root});
  }
  return shared ? Result(std::move(keys)) : std::move(shared).error();
}

}  // namespace

Result<config::Settings> read_settings(const config::CommandLine& command_line) {
  auto settings = config::load(command_line);
  if (!settings || settings->engine != config::Engine::salt) return settings;
  for (const std::string& mistake : auth::drop_bad_rules(settings->auth.external_auth)) {
    config::leave_to_master(mistake, *settings);
  }
  return settings;
}

master::JidReserve jid_reserve(std::shared_ptr<store::Store> store) {
  if (store->is_in_memory()) return nullptr;
  return [store = std::move(store)](std::int64_t now, std::int64_t length) {
    std::optional<std::int64_t> first;
    // Reserves no job ids after a failed write, because the next write may take seconds.
    if (!store->is_writable()) return first;
    const Result<void> reserved = store->transact([&](store::Connection& connection) {
      const auto take = [&](const store::Row& row) {
        first = row.number(0);
        return true;
      };
      return connection.each(kReserveJids, take, now, length);
    });
    return reserved ? first : std::nullopt;
  };
}

Result<Runtime> make_runtime(const config::Settings& settings) {
  auto opened = store::Store::open(settings.store);
  if (!opened) return std::move(opened).error();
  std::shared_ptr<store::Store> store = *std::move(opened);
  auto limiter = auth::make_hash_limiter(settings.auth.login_guard);
  auto keys = make_request_keys(settings, store);
  if (!keys) return std::move(keys).error();
  if (settings.engine == config::Engine::salt) {
    auto salt = make_salt_engine(settings, store);
    if (!salt) return std::move(salt).error();
    return Runtime{std::move(store), std::move(limiter), *std::move(salt), *std::move(keys)};
  }
  auto returners = returner::Returners::make(settings.returner, store, system_clock());
  if (!returners) return std::move(returners).error();
  auto runtime = embedded::make_runtime(settings.embedded, *std::move(returners), store, system_clock(),
                                        jid_reserve(store));
  return Runtime{std::move(store), std::move(limiter), std::move(runtime), *std::move(keys)};
}

Result<std::shared_ptr<master::Master>> make_master(const config::Settings& settings,
                                                    const Runtime& runtime) {
  auto permissions = auth::Permissions::make(settings.auth.external_auth);
  if (!permissions) return std::move(permissions).error();
  if (const auto* salt = std::get_if<SaltEngine>(&runtime.engine)) {
    return make_salt_master(settings, *std::move(permissions), *salt, runtime);
  }
  auto authenticator = auth::Authenticator::make(settings.auth, system_clock(), runtime.store,
                                                 runtime.hash_limiter, runtime.logins);
  if (!authenticator) return std::move(authenticator).error();
  return embedded::make_master(settings.embedded, *std::move(authenticator), *std::move(permissions),
                               std::get<std::shared_ptr<embedded::Runtime>>(runtime.engine));
}

std::vector<Error> etcd_warnings(const config::Settings& settings) {
  const auto deadline = [] { return system_clock().steady() + std::chrono::seconds(2); };
  std::vector<Error> warnings;
  if (auto jobs = returner::missing_etcd_api(settings.returner.etcd, deadline()))
    warnings.push_back(*std::move(jobs));
  if (const auto& tokens = settings.auth.tokens_in_etcd) {
    if (auto missing = returner::missing_etcd_api_of_tokens(tokens->cluster, deadline()))
      warnings.push_back(*std::move(missing));
  }
  return warnings;
}

Result<std::string> revoke(const config::Settings& settings, std::string_view eauth,
                           std::string_view username) {
  const std::string& path = settings.store.path;
  std::shared_ptr<store::Store> store;
  if (settings.engine == config::Engine::salt || !settings.auth.tokens_in_etcd) {
    // Does not create a missing store. The service probably uses another path, so a new store would have no
    // effect.
    if (::access(path.c_str(), F_OK) != 0) {
      return Error{ErrorKind::configuration,
                   format("store: {}: {}; expected the database of the rest_fcgi service. Set "
                          "STATE_DIRECTORY to the same folder as the service",
                          path, errno_text()),
                   {}};
    }
    auto opened = store::Store::open({.path = path});
    if (!opened) return std::move(opened).error();
    store = *std::move(opened);
  }
  if (settings.engine != config::Engine::salt) {
    const auto revoked = auth::revoke_tokens_of(settings.auth, store, eauth, username, system_clock());
    if (!revoked) return revoked.error();
    return format("{} valid tokens of {} were revoked.\n", *revoked, username);
  }
  const auto added =
      auth::RevocationList(store, system_clock()).add_user(eauth, username, system_clock().wall());
  if (!added) return added.error();
  return format(
      "All tokens of {} that were made until now are revoked in {}. The Salt master itself accepts them "
      "until they expire.\n",
      username, path);
}

Result<Api> make_api(const config::Settings& settings, const Runtime& runtime, Monitor* monitor) {
  const config::FrontEnds& front_ends = settings.front_ends;
  auto master = make_master(settings, runtime);
  if (!master) return std::move(master).error();
  Api api{std::make_shared<const client::NetapiClient>(settings.client, *std::move(master), system_clock()),
          {}};
  const auto& ips = settings.rest_cherrypy.authorized_ips;
  const auto authorized = http::Addresses::make(ips.empty() ? std::vector<std::string>{"*"} : ips);
  if (!authorized) return authorized.error();
  const auto monitored = [&](http::Application application) {
    if (monitor != nullptr && front_ends.has_metrics_on_api)
      application = monitor->with_metrics(api.master(), *authorized, std::move(application));
    return monitor != nullptr && front_ends.health ? monitor->with_health(std::move(application))
                                                   : application;
  };
  std::map<netapi::Module, http::Application> made;
  for (const netapi::Module module : front_ends.served) {
    auto application = make_application(module, settings, api, runtime);
    if (!application) return std::move(application).error();
    if (monitor != nullptr) application = monitor->counted(netapi::name_of(module), *std::move(application));
    made[module] = http::with_request_id(*std::move(application));
  }
  std::vector<netapi::Mount> mounts;
  for (const auto& [path, module] : front_ends.mounts) mounts.push_back({path, made[module]});
  api.applications.fastcgi = monitored(netapi::mount(std::move(mounts)));
  for (const netapi::Module module : front_ends.http)
    api.applications.http.push_back(monitored(made[module]));
  if (monitor == nullptr) return api;
  if (front_ends.metrics) api.applications.http.push_back(monitor->application());
  api.applications.monitoring_at_once = metrics::answer_health;
  if (front_ends.health) api.applications.at_once = metrics::answer_health;
  // With several modules over FastCGI, the module of a refused request is not known.
  const std::string_view fastcgi =
      front_ends.mounts.size() == 1 ? netapi::name_of(front_ends.mounts.front().second) : "fastcgi";
  api.applications.on_refused = [monitor, fastcgi](std::string_view port, http::Status status) {
    monitor->count_refused(port.empty() ? fastcgi : port, status);
  };
  return api;
}

gateway::Options sockets_of(const config::Settings& settings) {
  gateway::Options sockets = settings.gateway;
  sockets.answers_health = settings.front_ends.health;
  if (settings.front_ends.metrics) sockets.http.push_back(*settings.front_ends.metrics);
  return sockets;
}

Result<void> check_start(const config::Settings& settings, const gateway::Options& sockets) {
  if (auto good = gateway::check_start(sockets); !good) return good;
  if (auto good = log::check(settings.log); !good) return good;
  return store::Store::check(settings.store);
}

Result<gateway::Applications> reload(const config::CommandLine& command_line,
                                     const config::Settings& at_start, const Runtime& runtime,
                                     Monitor* monitor) {
  auto wanted = read_settings(command_line);
  if (!wanted) return std::move(wanted).error();
  if (wanted->engine != at_start.engine) {
    return Error{ErrorKind::configuration,
                 "rest_fcgi: engine: found another engine, expected the running one: restart the service to "
                 "change it"};
  }
  gateway::Options sockets = sockets_of(*wanted);
  // A service without an address was given a socket at its start.
  const bool was_given_a_socket = at_start.gateway.listen.empty() && sockets_of(at_start).http.empty();
  if (was_given_a_socket && sockets.listen.empty()) sockets.listen = "fd:0";
  if (auto good = check_start(*wanted, sockets); !good) return config::with_place(good.error(), *wanted);
  const auto& served = wanted->front_ends.served;
  for (const netapi::Module module : at_start.front_ends.http) {
    if (std::find(served.begin(), served.end(), module) != served.end()) continue;
    return Error{ErrorKind::configuration, format("rest_fcgi: netapi: found no {}, expected it, because its "
                                                  "port is open: restart the service to remove it",
                                                  netapi::name_of(module))};
  }
  wanted->front_ends.http = at_start.front_ends.http;
  config::make_cachedir(*wanted);
  auto api = make_api(*wanted, runtime, monitor);
  if (!api) return config::with_place(std::move(api).error(), *wanted);
  if (auto opened = open_log(*wanted); !opened) return std::move(opened).error();
  runtime.streams->use(api->client, wanted->streams);
  start(runtime);
  for (const std::string& key : config::restart_keys(at_start, *wanted)) {
    log::warning(format("{}: the new value takes effect after a restart", key));
  }
  return std::move(api->applications);
}

Result<void> open_log(const config::Settings& settings) {
  if (auto opened = log::open(settings.log); !opened) return opened;
  for (const std::string& warning : settings.warnings) log::warning(warning);
  return {};
}

void start(const Runtime& runtime) {
  if (const auto* embedded = std::get_if<std::shared_ptr<embedded::Runtime>>(&runtime.engine)) {
    (*embedded)->announce_minions();
  } else {
    std::get<SaltEngine>(runtime.engine).runtime->join_event_bus();
  }
}

std::size_t shut_down(const Runtime& runtime, SteadyTime deadline) {
  if (const auto* embedded = std::get_if<std::shared_ptr<embedded::Runtime>>(&runtime.engine)) {
    return (*embedded)->shutdown(deadline);
  }
  const auto& salt = std::get<SaltEngine>(runtime.engine);
  const std::size_t running = salt.runtime->shutdown(deadline);
  if (!salt.recorder) return running;
  const auto flushed = salt.recorder->flush(deadline);
  if (flushed) return running;
  log::warning(flushed.error().message);
  return running + 1;  // The job cache that did not end its writes counts as a running job.
}

}  // namespace rest_fcgi::engine

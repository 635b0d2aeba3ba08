// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/stat.h>
#include <sysexits.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rest_fcgi/auth/crypt_hash.h"
#include "rest_fcgi/auth/password_file.h"
#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/client/netapi_client.h"
#include "rest_fcgi/config/config.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/memory.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/core/unique_fd.h"
#include "rest_fcgi/core/version.h"
#include "rest_fcgi/engine/engine.h"
#include "rest_fcgi/engine/kept_ports.h"
#include "rest_fcgi/engine/monitor.h"
#include "rest_fcgi/engine/service.h"
#include "rest_fcgi/engine/service_user.h"
#include "rest_fcgi/engine/supervisor.h"
#include "rest_fcgi/gateway/certificates.h"
#include "rest_fcgi/gateway/gateway.h"
#include "rest_fcgi/http/addresses.h"
#include "rest_fcgi/master/embedded/embedded.h"
#include "rest_fcgi/master/salt/salt.h"
#include "rest_fcgi/metrics/application.h"
#include "rest_fcgi/metrics/writer.h"
#include "rest_fcgi/netapi/refusals.h"
#include "rest_fcgi/netapi/rest.h"
#include "rest_fcgi/netapi/stream_registry.h"
#include "rest_fcgi/returner/returners.h"
#include "rest_fcgi/store/backup.h"
#include "rest_fcgi/store/store.h"
#include "rest_fcgi/watch/watch.h"

// The program rest_fcgi creates the components and connects them.

namespace rest_fcgi {
namespace {

int fail(const Error& error, int status) {
  const std::string text = format("rest_fcgi: {}\n", error.message);
  std::fputs(log::for_standard_error(log::Level::error, text).c_str(), stderr);
  return status;
}

int fail(const Error& error) {
  return fail(error, error.kind == ErrorKind::configuration ? EX_CONFIG : EX_SOFTWARE);
}

int fail(const Error& error, const config::Settings& settings) {
  return fail(config::with_place(error, settings));
}

int print(const std::string& text) {
  return std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? EX_SOFTWARE : EXIT_SUCCESS;
}

/// With `engine: salt`, removes each rule of `external_auth` that this program cannot compile. Only the Salt
/// master then applies such a rule.
Result<config::Settings> read_settings(const config::CommandLine& command_line) {
  auto settings = config::load(command_line);
  if (!settings) return settings;
  if (settings->engine != config::Engine::salt) return settings;
  for (const std::string& mistake : auth::drop_bad_rules(settings->auth.external_auth)) {
    config::leave_to_master(mistake, *settings);
  }
  return settings;
}

/// Reads the settings for a command of the operator. As root, this process then works as the service does.
/// Without `becomes_user`, it stays root.
Result<config::Settings> settings_of_service(const config::CommandLine& command_line,
                                             bool becomes_user = true) {
  if (auto works = engine::work_as_service(command_line.config, becomes_user); !works)
    return std::move(works).error();
  auto settings = read_settings(command_line);
  if (!settings || !becomes_user) return settings;
  if (auto works = engine::work_as_owner(settings->store.path); !works) return std::move(works).error();
  return settings;
}

using Client = std::shared_ptr<const client::NetapiClient>;
using Streams = std::shared_ptr<netapi::StreamRegistry>;

Result<http::Application> make_application(netapi::Module module, const config::Settings& settings,
                                           const Client& client, const Streams& streams) {
  switch (module) {
    case netapi::Module::rest_cherrypy:
      return netapi::make_rest_cherrypy(settings.rest_cherrypy, client, streams, system_clock());
    case netapi::Module::rest_tornado:
      return netapi::make_rest_tornado(settings.rest_tornado, client, streams, system_clock());
    case netapi::Module::rest_wsgi:
      break;
  }
  return netapi::make_rest_wsgi(settings.netapi, client, system_clock());
}

Result<Client> make_client(const config::Settings& settings, const engine::Runtime& runtime) {
  auto master = engine::make_master(settings, runtime);
  if (!master) return std::move(master).error();
  return Client(
      std::make_shared<const client::NetapiClient>(settings.client, *std::move(master), system_clock()));
}

Result<gateway::Applications> make_applications(const config::Settings& settings, const Client& client,
                                                const Streams& streams, engine::Monitor* monitor) {
  std::map<netapi::Module, http::Application> made;
  for (const netapi::Module module : settings.front_ends.served) {
    auto application = make_application(module, settings, client, streams);
    if (!application) return std::move(application).error();
    made[module] = http::with_request_id(
        monitor == nullptr ? *std::move(application)
                           : monitor->counted(netapi::name_of(module), *std::move(application)));
  }
  std::vector<netapi::Mount> mounts;
  for (const auto& [path, module] : settings.front_ends.mounts) mounts.push_back({path, made[module]});
  gateway::Applications applications{netapi::mount(std::move(mounts)), {}};
  for (const netapi::Module module : settings.front_ends.http) applications.http.push_back(made[module]);
  if (monitor == nullptr) return applications;
  if (settings.front_ends.has_metrics_on_api) {
    const std::shared_ptr<master::Master> master{client,
                                                 // The pointer shares ownership of `client`, which owns the
                                                 // master.
                                                 &client->master()};
    std::optional<http::Addresses> authorized;
    if (const auto& ips = settings.rest_cherrypy.authorized_ips; !ips.empty()) {
      auto addresses = http::Addresses::make(ips);
      if (!addresses) return std::move(addresses).error();
      authorized = *std::move(addresses);
    }
    applications.fastcgi = monitor->with_metrics(master, authorized, std::move(applications.fastcgi));
    for (http::Application& application : applications.http)
      application = monitor->with_metrics(master, authorized, std::move(application));
  }
  applications.monitoring_at_once = metrics::answer_health;
  applications.on_refused = [monitor, fastcgi = settings.front_ends.mounts](std::string_view port,
                                                                            http::Status status) {
    // With several modules over FastCGI, the module of a refused request is not known.
    const bool is_known = port.empty() && fastcgi.size() == 1;
    const std::string_view module = is_known ? netapi::name_of(fastcgi.front().second) : "fastcgi";
    monitor->count_refused(port.empty() ? module : port, status);
  };
  if (settings.front_ends.health) {
    applications.at_once = metrics::answer_health;
    applications.fastcgi = monitor->with_health(std::move(applications.fastcgi));
    for (http::Application& application : applications.http)
      application = monitor->with_health(std::move(application));
  }
  if (settings.front_ends.metrics) applications.http.push_back(monitor->application());
  return applications;
}

std::vector<std::string> etcd_warnings(const config::Settings& settings) {
  const auto deadline = [] { return system_clock().steady() + std::chrono::seconds(2); };
  std::vector<std::string> warnings;
  if (auto jobs = returner::missing_etcd_api(settings.returner.etcd, deadline()))
    warnings.push_back(*std::move(jobs));
  if (const auto& tokens = settings.auth.tokens_in_etcd) {
    if (auto missing = returner::missing_etcd_api_of_tokens(tokens->cluster, deadline()))
      warnings.push_back(*std::move(missing));
  }
  return warnings;
}

/// Returns a line for each rule of `external_auth` that matches no function or no minion.
std::string idle_rule_lines(const config::Settings& settings, const engine::Runtime& runtime) {
  const auto* embedded = std::get_if<std::shared_ptr<embedded::Runtime>>(&runtime.engine);
  std::string lines;
  if (embedded == nullptr) return lines;
  for (const embedded::UnmatchedRulePart& part :
       (*embedded)->unmatched_rule_parts(settings.auth.external_auth)) {
    lines += config::idle_rule_line(part.place, part.text, part.what, part.names);
  }
  return lines;
}

/// Returns the options of all sockets of the gateway, including the port for Prometheus.
gateway::Options sockets_of(const config::Settings& settings) {
  gateway::Options sockets = settings.gateway;
  sockets.answers_health = settings.front_ends.health;
  if (settings.front_ends.metrics) sockets.http.push_back(*settings.front_ends.metrics);
  return sockets;
}

/// The checks of the start, of a reload and of --check-config. The three also make a client and applications,
/// which finds further errors.
Result<void> check_start(const config::Settings& settings, const gateway::Options& sockets) {
  if (auto good = gateway::check_start(sockets); !good) return good;
  if (auto good = log::check(settings.log); !good) return good;
  return store::Store::check(settings.store);
}

int check_config(config::Settings settings, const config::CommandLine& command_line) {
  const gateway::Options sockets = sockets_of(settings);
  std::string event_bus, hooks;
  if (settings.engine == config::Engine::salt) {
    event_bus = salt::describe_event_bus(settings.salt);
    if (config::takes_hooks(settings)) hooks = salt::describe_event_firing(settings.salt);
  }
  std::vector<std::string> warnings = etcd_warnings(settings);
  for (std::string& taken : gateway::taken_addresses(sockets)) warnings.push_back(std::move(taken));
  for (std::string& warning : warnings) {
    const Error placed = config::with_place({ErrorKind::configuration, std::move(warning), {}}, settings);
    settings.warnings.push_back(placed.message);
  }
  if (auto warning = store::network_warning(settings.store.path))
    settings.warnings.push_back(*std::move(warning));
  const std::string summary = config::summary(settings, command_line, event_bus, hooks);
  const Result<void> can_start = check_start(settings, sockets);
  settings = std::move(settings).without_files();
  auto runtime = engine::make_runtime(settings);
  if (!runtime) return fail(runtime.error(), settings);
  const auto client = make_client(settings, *runtime);
  if (!client) return fail(client.error(), settings);
  const auto streams = std::make_shared<netapi::StreamRegistry>(system_clock());
  const auto applications = make_applications(settings, *client, streams, nullptr);
  if (!applications) return fail(applications.error(), settings);
  if (!can_start) return fail(can_start.error(), settings);
  return print(summary + idle_rule_lines(settings, *runtime));
}

/// Returns whether a login error means that the back end failed. Such an error says nothing about the
/// password.
bool is_failure(ErrorKind kind) {
  return kind == ErrorKind::unavailable || kind == ErrorKind::timeout || kind == ErrorKind::internal;
}

int make_token(config::Settings settings, const config::CommandLine& command_line) {
  config::make_cachedir(settings);
  settings = std::move(settings).without_jobs();
  auto runtime = engine::make_runtime(settings);
  if (!runtime) return fail(runtime.error(), settings);
  auto master = engine::make_master(settings, *runtime);
  if (!master) return fail(master.error(), settings);
  auto password = config::read_password();
  if (!password) return fail(password.error());
  constexpr std::chrono::minutes kTimeout{1};
  auto session = (*master)->login({.kind = auth::Credentials::Kind::eauth,
                                   .eauth = command_line.eauth,
                                   .username = command_line.username,
                                   .password = *password},
                                  system_clock().steady() + kTimeout);
  if (!session) {
    return is_failure(session.error().kind) ? fail(session.error()) : fail(session.error(), EX_NOPERM);
  }
  return config::print_secret(session->token) ? EXIT_SUCCESS : EX_SOFTWARE;
}

int revoke(const config::Settings& settings, const config::CommandLine& command_line) {
  const auto done = engine::revoke(settings, command_line.eauth, command_line.username);
  return done ? print(*done + "\n") : fail(done.error(), settings);
}

/// Stays root, because only root may change the file of users.
int write_user(const config::CommandLine& command_line) {
  const bool is_new = command_line.action == config::CommandLine::Action::add_user;
  const auto settings = settings_of_service(command_line, false);
  if (!settings) return fail(settings.error());
  if (settings->engine == config::Engine::salt) {
    return fail({ErrorKind::configuration,
                 "found engine: salt, expected the embedded engine: the Salt master checks the passwords"});
  }
  struct stat master {};
  if (::stat(command_line.config.c_str(), &master) != 0)
    return fail({ErrorKind::configuration, errno_text()});
  const auto path = auth::write_user(
      settings->auth, {.is_new = is_new, .user = command_line.username, .group = master.st_gid},
      [&] { return config::read_new_password(command_line); });
  if (!path) return fail(path.error(), *settings);
  const std::string& user = command_line.username;
  if (!is_new) return print(format("{} has a new password in {}.\n", user, *path));
  return print(
      format("{} is added to {}.\n{}", user, *path, config::describe_rules(*settings, command_line)));
}

/// Stays root, so that the copy can be in every folder. SQLite gives the files beside the database the owner
/// of the database.
int back_up(const config::CommandLine& command_line) {
  const auto settings = settings_of_service(command_line, false);
  if (!settings) return fail(settings.error());
  const auto done = store::back_up(settings->store.path, command_line.copy);
  if (!done) return fail(done.error(), *settings);
  return print(format("{} is copied to {}.\n", settings->store.path, command_line.copy));
}

int restore(const config::CommandLine& command_line) {
  // The user of the service may lack access to the copy, so the copy is opened first.
  const UniqueFd copy(::open(command_line.copy.c_str(), O_RDONLY | O_CLOEXEC));
  if (!copy) {
    return fail(
        {ErrorKind::configuration, format("{}: cannot be opened: {}", command_line.copy, errno_text())});
  }
  const auto settings = settings_of_service(command_line);
  if (!settings) return fail(settings.error());
  const auto done = store::restore(settings->store.path, copy.get());
  if (!done) return fail(done.error(), *settings);
  return print(
      format("{} has the content of {}. The service can start.\n", settings->store.path, command_line.copy));
}

int explain(config::Settings settings, const config::CommandLine& command_line) {
  if (settings.engine == config::Engine::salt) {
    return fail(
        {ErrorKind::configuration,
         "--explain: found engine: salt, expected the embedded engine: the master decides about its rules"});
  }
  settings = std::move(settings).without_files();
  const auto explanation =
      embedded::explain(settings.embedded, settings.auth,
                        {command_line.eauth, command_line.username, command_line.fun, command_line.tgt});
  if (!explanation) return fail(config::with_place(explanation.error(), settings), EX_CONFIG);
  if (const int status = print(explanation->text); status != EXIT_SUCCESS) return status;
  return explanation->allowed ? EXIT_SUCCESS : EXIT_FAILURE;
}

Result<void> open_log(const config::Settings& settings) {
  if (auto opened = log::open(settings.log); !opened) return opened;
  for (const std::string& warning : settings.warnings) log::warning(warning);
  return {};
}

/// All modules count refused requests together, also after a reload.
void share(const std::shared_ptr<netapi::Refusals>& refusals, config::Settings& settings) {
  settings.netapi.refusals = refusals;
  settings.rest_cherrypy.common.refusals = refusals;
  settings.rest_tornado.common.refusals = refusals;
}

/// A reload cannot open or close ports, so `wanted` gets the ports that were opened at the start. Errors:
/// configuration, if `wanted` does not enable the module (rest_cherrypy or rest_tornado) of an open port.
Result<void> keep_ports(const config::Settings& at_start, config::Settings& wanted) {
  const auto& served = wanted.front_ends.served;
  for (const netapi::Module module : at_start.front_ends.http) {
    if (std::find(served.begin(), served.end(), module) != served.end()) continue;
    return Error{ErrorKind::configuration, format("rest_fcgi: netapi: found no {}, expected it, because its "
                                                  "port is open: restart the service to remove it",
                                                  netapi::name_of(module))};
  }
  wanted.front_ends.http = at_start.front_ends.http;
  return {};
}

Result<gateway::Applications> reload(const config::CommandLine& command_line,
                                     const config::Settings& at_start, const engine::Runtime& runtime,
                                     const Streams& streams, engine::Monitor* monitor) {
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
  if (auto kept = keep_ports(at_start, *wanted); !kept) return std::move(kept).error();
  config::make_cachedir(*wanted);
  share(at_start.netapi.refusals, *wanted);
  const auto client = make_client(*wanted, runtime);
  if (!client) return config::with_place(client.error(), *wanted);
  auto applications = make_applications(*wanted, *client, streams, monitor);
  if (!applications) return config::with_place(std::move(applications).error(), *wanted);
  if (auto opened = open_log(*wanted); !opened) return std::move(opened).error();
  streams->use(*client, wanted->streams);
  engine::start(runtime);
  for (const std::string& key : config::restart_keys(at_start, *wanted)) {
    log::warning(format("{}: the new value takes effect after a restart", key));
  }
  return applications;
}

/// The start of the program must not wait for an etcd cluster that does not answer.
Thread check_etcd(const config::Settings& settings) {
  auto thread = Thread::start("etcd-check", [&settings] {
    for (const std::string& warning : etcd_warnings(settings)) log::warning(warning);
  });
  return thread ? *std::move(thread) : Thread();
}

void write_certificates(metrics::Writer& writer, const gateway::Options& options) {
  const auto all = gateway::certificate_times(options);
  if (!all) return;
  writer.metric(metrics::Type::gauge, "rest_fcgi_certificate_expiry_timestamp_seconds",
                "Unix timestamp of the time when the certificate of a port expires.");
  for (const gateway::CertificateTimes& one : *all) {
    const auto until = std::chrono::duration_cast<std::chrono::seconds>(one.until.time_since_epoch());
    writer.sample({{"module", one.name}}, static_cast<double>(until.count()));
  }
}

void write_gateway(metrics::Writer& writer, const gateway::Statistics& numbers) {
  const auto gauge = [&writer](std::string_view name, std::string_view help, std::size_t value) {
    writer.gauge(name, help, static_cast<double>(value));
  };
  gauge("rest_fcgi_threads", "Threads that answer requests.", numbers.threads);
  gauge("rest_fcgi_requests_waiting", "Requests that wait for a thread.", numbers.waiting);
  writer.metric(metrics::Type::gauge, "rest_fcgi_connections", "Open connections.");
  writer.sample({{"protocol", "http"}}, static_cast<double>(numbers.http_connections));
  writer.sample({{"protocol", "fastcgi"}}, static_cast<double>(numbers.fastcgi_connections));
  gauge("rest_fcgi_streams", "Open event streams.", numbers.streams);
  writer.counter("rest_fcgi_streams_closed_slow_total",
                 "Event streams closed because their clients read too slowly.",
                 static_cast<double>(numbers.slow_streams));
}

/// Returns null if the configuration enables neither metrics nor health checks.
std::unique_ptr<engine::Monitor> make_monitor(const config::Settings& settings,
                                              const engine::Runtime& runtime, const Client& client) {
  auto monitor = engine::Monitor::make(settings, runtime);
  if (monitor) {
    monitor->add_check("certificates", [options = settings.gateway](SteadyTime) {
      return gateway::check_certificate_times(options, system_clock().wall());
    });
    monitor->on_collect(
        [options = settings.gateway](metrics::Writer& writer) { write_certificates(writer, options); });
    // The pointer to the master shares ownership of `client`, which owns the master.
    if (settings.front_ends.metrics || settings.front_ends.has_metrics_on_api)
      monitor->observe({client, &client->master()});
  }
  return monitor;
}

/// Answers requests until the service ends.
Result<gateway::Ended> answer(gateway::Gateway& server, gateway::Applications applications,
                              const config::Settings& settings, const config::CommandLine& command_line,
                              const engine::Runtime& runtime, const Streams& streams,
                              engine::Monitor* monitor) {
  std::optional<engine::StatusLine> status;
  if (engine::has_service_manager()) status.emplace(monitor->health());
  log::notice(config::start_line(settings, command_line));
  return server.serve(
      std::move(applications),
      {.read =
           [&] {
             engine::notify_systemd("RELOADING=1");
             return reload(command_line, settings, runtime, streams, monitor);
           },
       .ended =
           [&](const Result<void>& ended) {
             engine::notify_systemd("READY=1");
             if (status)
               status->note(ended ? ""
                                  : "the old configuration is in use: the new configuration has a mistake");
             engine::report_reload(ended);
           }},
      {[&](gateway::Ending ending) {
         if (status) status->end();
         if (ending == gateway::Ending::hand_over) {
           const auto most = std::chrono::ceil<std::chrono::seconds>(sockets_of(settings).shutdown_timeout);
           return engine::leave_supervisor(most + std::chrono::seconds(15));
         }
         if (monitor != nullptr) monitor->health().stop();
         engine::notify_systemd("STOPPING=1\nSTATUS=stopping: waits for running requests and jobs");
       },
       [&](SteadyTime deadline) { return engine::shut_down(runtime, deadline); }});
}

int serve(config::Settings settings, const config::CommandLine& command_line) {
  config::make_cachedir(settings);
  const gateway::Options sockets = sockets_of(settings);
  if (auto good = check_start(settings, sockets); !good) return fail(good.error(), settings);
  if (auto opened = open_log(settings); !opened) return fail(opened.error(), settings);
  auto made = engine::make_runtime(settings);
  if (!made) return fail(made.error(), settings);
  const engine::Runtime runtime = *std::move(made);
  const auto refusals = std::make_shared<netapi::Refusals>();
  share(refusals, settings);
  const auto write_refusals = [refusals] { refusals->write_sums(system_clock()); };
  const auto every_second = runtime.store->every_second(write_refusals);
  const auto client = make_client(settings, runtime);
  if (!client) return fail(client.error(), settings);
  const auto streams = std::make_shared<netapi::StreamRegistry>(system_clock());
  streams->use(*client, settings.streams);
  const auto monitor = make_monitor(settings, runtime, *client);
  auto applications = make_applications(settings, *client, streams, monitor.get());
  if (!applications) return fail(applications.error(), settings);
  // Requests arrive as soon as the sockets are open, so the applications are made before the sockets.
  engine::drop_stale_ports(sockets.http);
  auto gateway = gateway::Gateway::open(sockets);
  if (!gateway) return fail(gateway.error(), settings);
  if (monitor) {
    monitor->on_collect(
        [&gateway](metrics::Writer& writer) { write_gateway(writer, (*gateway)->statistics()); });
  }
  (*gateway)->keep_ports(engine::store_port);
  engine::start(runtime);
  const Thread etcd_check =
      settings.returner.etcd.is_chosen || settings.auth.tokens_in_etcd ? check_etcd(settings) : Thread();
  const engine::Watchdog watchdog(*runtime.store);
  engine::notify_systemd("READY=1");
  const Result<gateway::Ended> served =
      answer(**gateway, *std::move(applications), settings, command_line, runtime, streams, monitor.get());
  write_refusals();
  if (!served) return fail(served.error(), settings);
  if (served->running > 0) {
    // Detached worker threads still use the objects of this function, so the process exits without running
    // destructors.
    std::fflush(nullptr);
    std::_Exit(EXIT_SUCCESS);
  }
  return EXIT_SUCCESS;
}

int check_health(const config::Settings& settings) {
  if (!settings.front_ends.metrics) {
    return fail({ErrorKind::configuration,
                 "--health: found no rest_fcgi: metrics: listen, expected HOST:PORT or unix:PATH, where "
                 "--health asks the service"});
  }
  const auto readiness = engine::ask_readiness(*settings.front_ends.metrics);
  if (!readiness) return fail(readiness.error(), EXIT_FAILURE);
  if (const int status = print(readiness->text + "\n"); status != EXIT_SUCCESS) return status;
  return readiness->is_ready ? EXIT_SUCCESS : EXIT_FAILURE;
}

int watch_events(const config::CommandLine& command_line) {
  watch::Options options = command_line.watch;
  const auto token = config::read_token(command_line);
  if (!token) return fail(token.error());
  if (options.url.empty()) {
    const auto settings = settings_of_service(command_line);
    if (!settings) return fail(settings.error());
    auto url = config::local_events_url(*settings);
    if (!url) return fail(url.error());
    options.url = *std::move(url);
  }
  const Error end = watch::run(options, *token);
  if (end.kind == ErrorKind::authentication) return fail(end, EX_NOPERM);
  return end.kind == ErrorKind::unavailable ? fail(end, EXIT_FAILURE) : fail(end);
}

int run(int argc, const char* const* argv) {
  using Action = config::CommandLine::Action;
  auto command_line = config::parse_command_line(argc, argv);
  if (!command_line) return fail(command_line.error());
  if (command_line->action == Action::show_help) return print(config::help_text());
  if (command_line->action == Action::show_version) return print(format("rest_fcgi {}\n", kVersion));
  const auto shown = [](const auto& done) { return done ? print(*done) : fail(done.error()); };
  if (command_line->action == Action::init) return shown(config::init(*command_line, auth::crypt_hash));
  if (command_line->action == Action::undo) return shown(config::undo());
  if (command_line->action == Action::reload) {
    const auto reloaded = engine::request_reload();
    return reloaded ? EXIT_SUCCESS : fail(reloaded.error());
  }
  gateway::harden_process();
  if (command_line->action == Action::serve) engine::supervise();
  keep_memory();
  switch (command_line->action) {
    case Action::watch:
      return watch_events(*command_line);
    case Action::add_user:
    case Action::set_password:
      return write_user(*command_line);
    case Action::back_up:
      return back_up(*command_line);
    case Action::restore:
      return restore(*command_line);
    default:
      break;
  }
  auto settings = command_line->action == Action::serve ? read_settings(*command_line)
                                                        : settings_of_service(*command_line);
  if (!settings) return fail(settings.error());
  if (command_line->action == Action::check_config) return check_config(*std::move(settings), *command_line);
  if (command_line->action == Action::check_health) return check_health(*settings);
  if (command_line->action == Action::make_token) return make_token(*std::move(settings), *command_line);
  if (command_line->action == Action::revoke) return revoke(*settings, *command_line);
  if (command_line->action == Action::explain) return explain(*std::move(settings), *command_line);
  return serve(*std::move(settings), *command_line);
}

}  // namespace
}  // namespace rest_fcgi

int main(int argc, char** argv) try {
  return rest_fcgi::run(argc, argv);
} catch (const std::exception& error) {
  return rest_fcgi::fail({rest_fcgi::ErrorKind::internal, error.what()});
}

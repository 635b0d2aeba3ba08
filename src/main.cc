// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <utility>

#include "rest_fcgi/command/command.h"
#include "rest_fcgi/config/config.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/memory.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/engine/engine.h"
#include "rest_fcgi/engine/kept_ports.h"
#include "rest_fcgi/engine/monitor.h"
#include "rest_fcgi/engine/service.h"
#include "rest_fcgi/engine/supervisor.h"
#include "rest_fcgi/gateway/gateway.h"

// The program rest_fcgi creates the components and connects them.

namespace rest_fcgi {
namespace {

/// The start of the program must not wait for an etcd cluster that does not answer.
Thread check_etcd(const config::Settings& settings) {
  if (!settings.returner.etcd.is_chosen && !settings.auth.tokens_in_etcd) return {};
  auto thread = Thread::start("etcd-check", [&settings] {
    for (const Error& warning : engine::etcd_warnings(settings)) log::warning(warning.message);
  });
  return thread ? *std::move(thread) : Thread();
}

/// Answers requests until the service ends.
Result<gateway::Ended> answer(gateway::Gateway& server, gateway::Applications applications,
                              const config::Settings& settings, const config::CommandLine& command_line,
                              const engine::Runtime& runtime, engine::Monitor* monitor) {
  std::optional<engine::StatusLine> status;
  if (engine::has_service_manager()) status.emplace(monitor->health());
  log::notice(config::start_line(settings, command_line));
  const auto read = [&] {
    engine::notify_systemd("RELOADING=1");
    return engine::reload(command_line, settings, runtime, monitor);
  };
  const auto reloaded = [&](const Result<void>& ended) {
    engine::notify_systemd("READY=1");
    if (status)
      status->note(ended ? "" : "the old configuration is in use: the new configuration has a mistake");
    engine::report_reload(ended);
  };
  const auto begin_end = [&](gateway::Ending ending) {
    if (status) status->end();
    if (ending == gateway::Ending::hand_over) {
      const auto most = std::chrono::ceil<std::chrono::seconds>(settings.gateway.shutdown_timeout);
      return engine::leave_supervisor(most + std::chrono::seconds(15));
    }
    if (monitor != nullptr) monitor->health().stop();
    engine::notify_systemd("STOPPING=1\nSTATUS=stopping: waits for running requests and jobs");
  };
  const auto end_work = [&](SteadyTime deadline) { return engine::shut_down(runtime, deadline); };
  return server.serve(std::move(applications), {.read = read, .ended = reloaded}, {begin_end, end_work});
}

Result<void> serve(const config::Settings& settings, const config::CommandLine& command_line) {
  config::make_cachedir(settings);
  const gateway::Options sockets = engine::sockets_of(settings);
  if (auto good = engine::check_start(settings, sockets); !good) return good;
  if (auto opened = engine::open_log(settings); !opened) return opened;
  const auto runtime = engine::make_runtime(settings);
  if (!runtime) return runtime.error();
  const auto write_refusals = [&runtime] { runtime->refusals->write_sums(system_clock()); };
  const auto every_second = runtime->store->every_second(write_refusals);
  const auto monitor = engine::Monitor::make(settings, *runtime);
  auto api = engine::make_api(settings, *runtime, monitor.get());
  if (!api) return std::move(api).error();
  runtime->streams->use(api->client, settings.streams);
  // Requests arrive as soon as the sockets are open, so the applications are made before the sockets.
  engine::drop_stale_ports(sockets.http);
  const auto gateway = gateway::Gateway::open(sockets);
  if (!gateway) return gateway.error();
  if (monitor) monitor->observe(api->master(), **gateway);
  (*gateway)->keep_ports(engine::store_port);
  engine::start(*runtime);
  const Thread etcd_check = check_etcd(settings);
  const engine::Watchdog watchdog(*runtime->store);
  engine::notify_systemd("READY=1");
  const Result<gateway::Ended> served =
      answer(**gateway, std::move(api->applications), settings, command_line, *runtime, monitor.get());
  write_refusals();
  if (!served) return served.error();
  if (served->running > 0) {
    // Detached worker threads still use the objects of this function, so the process exits without running
    // destructors.
    std::fflush(nullptr);
    std::_Exit(EXIT_SUCCESS);
  }
  return {};
}

int run(int argc, const char* const* argv) {
  const auto command_line = config::parse_command_line(argc, argv);
  if (!command_line) return command::fail(command_line.error());
  if (command_line->action != config::CommandLine::Action::serve) return command::run(*command_line);
  gateway::harden_process();
  engine::supervise();
  keep_memory();
  const auto settings = engine::read_settings(*command_line);
  if (!settings) return command::fail(settings.error());
  const auto served = serve(*settings, *command_line);
  return served ? EXIT_SUCCESS : command::fail(config::with_place(served.error(), *settings));
}

}  // namespace
}  // namespace rest_fcgi

int main(int argc, char** argv) try {
  return rest_fcgi::run(argc, argv);
} catch (const std::exception& error) {
  return rest_fcgi::command::fail({rest_fcgi::ErrorKind::internal, error.what()});
}

// SPDX-License-Identifier: MIT
#include "rest_fcgi/command/command.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sysexits.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "rest_fcgi/auth/crypt_hash.h"
#include "rest_fcgi/auth/password_file.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/memory.h"
#include "rest_fcgi/core/unique_fd.h"
#include "rest_fcgi/core/version.h"
#include "rest_fcgi/engine/engine.h"
#include "rest_fcgi/engine/service.h"
#include "rest_fcgi/engine/service_user.h"
#include "rest_fcgi/gateway/certificates.h"
#include "rest_fcgi/gateway/gateway.h"
#include "rest_fcgi/master/embedded/embedded.h"
#include "rest_fcgi/master/salt/salt.h"
#include "rest_fcgi/store/backup.h"
#include "rest_fcgi/store/store.h"
#include "rest_fcgi/watch/watch.h"

namespace rest_fcgi::command {
namespace {

using config::CommandLine;
using config::Settings;
using Action = CommandLine::Action;

int print(const std::string& text) {
  return std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? EX_SOFTWARE : EXIT_SUCCESS;
}

int print(const Result<std::string>& text) {
  return text ? print(*text) : fail(text.error());
}

Result<std::string> check_config(Settings& settings, const CommandLine& command_line) {
  const gateway::Options sockets = engine::sockets_of(settings);
  std::string event_bus, hooks;
  if (settings.engine == config::Engine::salt) {
    event_bus = salt::describe_event_bus(settings.salt);
    if (config::takes_hooks(settings)) hooks = salt::describe_event_firing(settings.salt);
  }
  std::vector<Error> warnings = engine::etcd_warnings(settings);
  for (Error& taken : gateway::taken_addresses(sockets)) warnings.push_back(std::move(taken));
  auto certificates = gateway::check_certificate_times(sockets, system_clock().wall());
  if (!certificates) warnings.push_back(std::move(certificates).error());
  for (Error& warning : warnings)
    settings.warnings.push_back(config::with_place(std::move(warning), settings).message);
  if (auto warning = store::network_warning(settings.store.path))
    settings.warnings.push_back(*std::move(warning));
  std::string summary = config::summary(settings, command_line, event_bus, hooks);
  const Result<void> can_start = engine::check_start(settings, sockets);
  settings = std::move(settings).without_files();
  auto runtime = engine::make_runtime(settings);
  if (!runtime) return std::move(runtime).error();
  // The rules are compared with the minions of the client's master, so the client lives until then.
  const auto api = engine::make_api(settings, *runtime, nullptr);
  if (!api) return api.error();
  if (!can_start) return can_start.error();
  if (const auto* embedded = std::get_if<std::shared_ptr<embedded::Runtime>>(&runtime->engine)) {
    for (const auto& part : (*embedded)->unmatched_rule_parts(settings.auth.external_auth))
      summary += config::idle_rule_line(part.place, part.text, part.what, part.names);
  }
  return summary;
}

int make_token(Settings settings, const CommandLine& command_line) {
  config::make_cachedir(settings);
  settings = std::move(settings).without_jobs();
  auto runtime = engine::make_runtime(settings);
  if (!runtime) return fail(config::with_place(runtime.error(), settings));
  auto master = engine::make_master(settings, *runtime);
  if (!master) return fail(config::with_place(master.error(), settings));
  auto password = config::read_password();
  if (!password) return fail(password.error());
  constexpr std::chrono::minutes kTimeout{1};
  auto session = (*master)->login({.kind = auth::Credentials::Kind::eauth,
                                   .eauth = command_line.eauth,
                                   .username = command_line.username,
                                   .password = *password},
                                  system_clock().steady() + kTimeout);
  if (session) return config::print_secret(session->token) ? EXIT_SUCCESS : EX_SOFTWARE;
  const ErrorKind kind = session.error().kind;
  if (kind == ErrorKind::authentication) {
    return fail(
        {kind, format("--mk-token: {}:{}: the login is refused: wrong user or password, or a back end "
                      "that is not in external_auth",
                      command_line.eauth, command_line.username)},
        EX_NOPERM);
  }
  // If the back end failed, the error says nothing about the password.
  const bool has_failed =
      kind == ErrorKind::unavailable || kind == ErrorKind::timeout || kind == ErrorKind::internal;
  return fail(session.error(), has_failed ? EX_SOFTWARE : EX_NOPERM);
}

Result<std::string> write_user(const Settings& settings, const CommandLine& command_line) {
  if (settings.engine == config::Engine::salt) {
    return Error{ErrorKind::configuration,
                 "found engine: salt, expected the embedded engine: the Salt master checks the passwords"};
  }
  struct stat master {};
  if (::stat(command_line.config.c_str(), &master) != 0) return Error{ErrorKind::configuration, errno_text()};
  const bool is_new = command_line.action == Action::add_user;
  const std::string& user = command_line.username;
  auto path = auth::write_user(settings.auth, {.is_new = is_new, .user = user, .group = master.st_gid},
                               [&] { return config::read_new_password(command_line); });
  if (!path) return path;
  if (!is_new) return format("{} has a new password in {}.\n", user, *path);
  return format("{} is added to {}.\n{}", user, *path, config::describe_rules(settings, command_line));
}

/// Returns the text that the command prints. `copy` is the open file of `--restore`.
Result<std::string> text_of(Settings& settings, const CommandLine& command_line, int copy) {
  const std::string& path = settings.store.path;
  if (command_line.action == Action::check_config) return check_config(settings, command_line);
  if (command_line.action == Action::revoke)
    return engine::revoke(settings, command_line.eauth, command_line.username);
  if (command_line.action == Action::back_up) {
    const auto done = store::back_up(path, command_line.copy);
    return done ? Result(format("{} is copied to {}.\n", path, command_line.copy)) : done.error();
  }
  if (command_line.action == Action::restore) {
    const auto done = store::restore(path, copy);
    return done
               ? Result(format("{} has the content of {}. The service can start.\n", path, command_line.copy))
               : done.error();
  }
  return write_user(settings, command_line);
}

int explain(Settings settings, const CommandLine& command_line) {
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

int check_health(const Settings& settings) {
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

int watch_events(const CommandLine& command_line) {
  watch::Options options = command_line.watch;
  const auto token = config::read_token(command_line);
  if (!token) return fail(token.error());
  if (options.url.empty()) {
    const auto settings = engine::settings_of_service(command_line, false);
    if (!settings) return fail(settings.error());
    auto url = config::local_events_url(*settings);
    if (!url) return fail(url.error());
    options.url = *std::move(url);
  }
  const Error end = watch::run(options, *token);
  if (end.kind == ErrorKind::authentication) return fail(end, EX_NOPERM);
  return end.kind == ErrorKind::unavailable ? fail(end, EXIT_FAILURE) : fail(end);
}

}  // namespace

int fail(const Error& error, int status) {
  const std::string text = format("rest_fcgi: {}\n", error.message);
  std::fputs(log::for_standard_error(log::Level::error, text).c_str(), stderr);
  return status;
}

int fail(const Error& error) {
  return fail(error, error.kind == ErrorKind::configuration ? EX_CONFIG : EX_SOFTWARE);
}

int run(const CommandLine& command_line) {
  const Action action = command_line.action;
  if (action == Action::show_help) return print(config::help_text());
  if (action == Action::show_version) return print(format("rest_fcgi {}\n", kVersion));
  if (action == Action::init) return print(config::init(command_line, auth::crypt_hash));
  if (action == Action::undo) return print(config::undo());
  if (action == Action::reload) {
    const auto reloaded = engine::request_reload();
    return reloaded ? EXIT_SUCCESS : fail(reloaded.error());
  }
  gateway::harden_process();
  keep_memory();
  if (action == Action::watch) return watch_events(command_line);
  UniqueFd copy;
  if (action == Action::restore) {
    // The user of the service may lack access to the copy, so the copy is opened before the change of user.
    copy = UniqueFd(::open(command_line.copy.c_str(), O_RDONLY | O_CLOEXEC));
    if (!copy) {
      return fail(
          {ErrorKind::configuration, format("{}: cannot be opened: {}", command_line.copy, errno_text())});
    }
  }
  // Only root may change the file of users, and only root may write a copy to every folder. SQLite gives the
  // files beside the database the owner of the database.
  const bool stays_root =
      action == Action::add_user || action == Action::set_password || action == Action::back_up;
  auto settings = engine::settings_of_service(command_line, stays_root);
  if (!settings) return fail(settings.error());
  if (action == Action::check_health) return check_health(*settings);
  if (action == Action::make_token) return make_token(*std::move(settings), command_line);
  if (action == Action::explain) return explain(*std::move(settings), command_line);
  const auto text = text_of(*settings, command_line, copy.get());
  return text ? print(*text) : fail(config::with_place(text.error(), *settings));
}

}  // namespace rest_fcgi::command

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <vector>

#include "config/names.h"
#include "rest_fcgi/config/config.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::config {
namespace {

std::string clients_line(const client::Options& options) {
  if (options.enabled.empty()) {
    return "none: every request will be refused; name some in netapi_enable_clients, such as "
           "netapi_enable_clients: [local, runner]";
  }
  std::vector<std::string> names;
  for (const lowstate::Client client : options.enabled) {
    const bool missing = client == lowstate::Client::ssh;
    names.push_back(format("{}{}", lowstate::name_of(client), missing ? " (not part of this engine)" : ""));
  }
  return joined(names, ", ");
}

std::string eauth_state(const auth::EauthOptions& eauth, const auth::Options& options) {
  if (eauth.name == "auto" && !options.allow_auto_eauth)
    return "off: needs rest_fcgi: allow_auto_eauth: true";
  static constexpr std::string_view kKnown[] = {"file", "pam", "sharedsecret", "auto"};
  if (std::find(std::begin(kKnown), std::end(kKnown), eauth.name) == std::end(kKnown))
    return "off: not part of this version";
  const std::size_t users = eauth.principals.size();
  return format("{} {}", users, users == 1 ? "user or group" : "users or groups");
}

std::string eauth_line(const Settings& settings) {
  std::vector<std::string> names;
  for (const auth::EauthOptions& eauth : settings.auth.external_auth) {
    names.push_back(settings.engine == Engine::salt
                        ? eauth.name
                        : format("{} ({})", eauth.name, eauth_state(eauth, settings.auth)));
  }
  if (names.empty()) return "none: nobody can log in; name back ends, users and functions in external_auth";
  return joined(names, ", ");
}

std::string tokens_line(const auth::Options& options) {
  if (options.token_dir.empty()) return "off";
  return format("in {}, for {} seconds", options.token_dir, options.token_expire.count());
}

std::string jobs_line(const returner::Options& options) {
  if (options.master_job_cache == "etcd") {
    const etcd::Options& etcd = options.etcd.writing;
    return format("in etcd at {}, below {}, for {}", joined(etcd.endpoints, ", "), options.etcd.root,
                  options.etcd.ttl.count() == 0 ? "ever" : format("{} seconds", options.etcd.ttl.count()));
  }
  const bool in_database = options.master_job_cache == "sqlite3";
  return format("in {}, for {}", in_database ? options.sqlite3.database : "memory",
                options.keep_jobs_seconds.count() == 0
                    ? "ever"
                    : format("{} seconds", options.keep_jobs_seconds.count()));
}

std::string minions_line(const embedded::Options& options) {
  if (options.minions.empty()) return "1, named after this host";
  return std::to_string(options.minions.size());
}

std::string master_line(const salt::Options& options) {
  const std::string events = options.ipc_mode_tcp ? format("port {}", options.tcp_master_pub_port)
                                                  : format("{}/master_event_pub.ipc", options.sock_dir);
  return format("{} port {}, events from {}", options.interface, options.ret_port, events);
}

std::string level_name(log::Level level) {
  switch (level) {
    case log::Level::debug:
      return "debug";
    case log::Level::info:
      return "info";
    case log::Level::warning:
      return "warning";
    case log::Level::error:
      return "error";
    case log::Level::off:
      break;
  }
  return "quiet";
}

std::string log_line(const log::Options& options) {
  return format("{} to {}", level_name(options.level),
                options.file.empty() ? "standard error" : options.file);
}

std::string audit_line(const Settings& settings) {
  const std::string& file = settings.log.audit_file;
  return format("{} to {}", settings.netapi.audit_as_json ? "json" : "text", file.empty() ? "the log" : file);
}

}  // namespace

std::string summary(const Settings& settings, const CommandLine& command_line, std::string_view event_bus) {
  const std::string& listen = settings.gateway.listen;
  std::string text;
  const auto line = [&text](std::string_view name, std::string_view value) {
    text += format("{:<9} {}\n", format("{}:", name), value);
  };
  line("config", command_line.config);
  line("engine", settings.engine == Engine::salt ? "salt" : "embedded");
  line("listen", listen.empty() ? "the socket on file descriptor 0" : listen);
  line("clients", clients_line(settings.client));
  line("eauth", eauth_line(settings));
  if (settings.engine == Engine::salt) {
    line("master", master_line(settings.salt));
    line("events", event_bus);
  } else {
    line("tokens", tokens_line(settings.auth));
    line("jobs", jobs_line(settings.returner));
    line("minions", minions_line(settings.embedded));
  }
  line("log", log_line(settings.log));
  line("audit", audit_line(settings));
  for (const std::string& warning : settings.warnings) line("warning", warning);
  return text;
}

}  // namespace rest_fcgi::config

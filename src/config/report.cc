// SPDX-License-Identifier: MIT
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/reader.h"
#include "config/sections.h"
#include "rest_fcgi/config/config.h"
#include "rest_fcgi/core/address.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/core/version.h"

namespace rest_fcgi::config {
namespace {

std::string clients_line(const client::Options& options, Engine engine) {
  if (options.enabled.empty()) {
    return "none: every request is refused; set for example netapi_enable_clients: [local, runner]";
  }
  std::vector<std::string> names;
  for (const lowstate::Client client : options.enabled) {
    const bool missing = client == lowstate::Client::ssh && engine == Engine::embedded;
    names.push_back(format("{}{}", lowstate::name_of(client), missing ? " (only with engine: salt)" : ""));
  }
  return joined(names);
}

std::string eauth_state(const auth::EauthOptions& eauth, const auth::Options& options) {
  if (eauth.name == "auto" && !options.allow_auto_eauth) return "off: set rest_fcgi: allow_auto_eauth: true";
  if (std::find(std::begin(kOwnBackEnds), std::end(kOwnBackEnds), eauth.name) == std::end(kOwnBackEnds))
    return "off: unknown back end";
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
  if (names.empty()) return "none: no user can log in; set back ends, users and functions in external_auth";
  return joined(names);
}

std::string tokens_line(const Settings& settings) {
  const auth::Options& options = settings.auth;
  if (const auto& etcd = options.tokens_in_etcd) {
    return format("in etcd at {}, below {}, for {} seconds", joined(etcd->cluster.endpoints), etcd->root,
                  options.token_expire.count());
  }
  return format("in {}, for {} seconds", settings.store.path.empty() ? "memory" : settings.store.path,
                options.token_expire.count());
}

std::string age(std::chrono::seconds most) {
  return most.count() == 0 ? "ever" : format("{} seconds", most.count());
}

std::string jobs_line(const Settings& settings) {
  const returner::Options& options = settings.returner;
  if (options.master_job_cache == "etcd") {
    return format("in etcd at {}, below {}, for {}", joined(options.etcd.writing.endpoints),
                  options.etcd.root, age(options.etcd.ttl));
  }
  const bool in_file = options.master_job_cache == "sqlite3" && !settings.store.path.empty();
  return format("in {}, for {}", in_file ? settings.store.path : "memory", age(options.keep_jobs_seconds));
}

std::string master_line(const salt::Options& options) {
  const std::string events = options.ipc_mode_tcp ? format("port {}", options.tcp_master_pub_port)
                                                  : format("{}/master_event_pub.ipc", options.sock_dir);
  return format("{} port {}, events from {}", options.interface, options.ret_port, events);
}

/// The names of the log levels, in the order of `log::Level`.
constexpr std::string_view kLevelNames[] = {"debug", "info", "warning", "error", "quiet"};

std::string url_of(const gateway::HttpOptions& options) {
  return (options.ssl_crt.empty() ? "http://" : "https://") + host_port_text(options.host, options.port);
}

std::string listen_line(const Settings& settings) {
  if (!settings.gateway.listen.empty()) return settings.gateway.listen;
  const bool has_ports = !settings.gateway.http.empty();
  return format("the socket on file descriptor 0{}", has_ports ? ", if there is one" : "");
}

/// Describes which client certificates the port accepts. The text continues a sentence about the port.
std::string client_certificates_text(const gateway::HttpOptions& options) {
  if (options.client_certificates == gateway::ClientCertificates::none) return "";
  const bool required = options.client_certificates == gateway::ClientCertificates::required;
  const std::string names =
      options.ssl_allowed_cn.empty() ? "any CN" : format("CN {}", joined(options.ssl_allowed_cn, " or "));
  return format(", client certificates {}: signed by {}, {}", required ? "required" : "optional",
                options.ssl_ca_certs, names);
}

std::vector<std::string> served_lines(const Settings& settings) {
  const FrontEnds& front_ends = settings.front_ends;
  std::vector<std::string> lines;
  if (!front_ends.are_named) return lines;
  for (const auto& [path, module] : front_ends.mounts) {
    lines.push_back(format("{} at {} over FastCGI", netapi::name_of(module), path));
  }
  for (const gateway::HttpOptions& options : settings.gateway.http) {
    const bool plain = options.ssl_crt.empty();
    lines.push_back(format("{} at {}{}", options.name, url_of(options),
                           plain ? ", without TLS" : client_certificates_text(options)));
  }
  return lines;
}

std::string proxies_line(const gateway::HttpOptions& options) {
  if (options.trusted_proxies.empty()) {
    return options.name + " trusts no web server; all clients behind a web server count as one client";
  }
  return format("{} takes the client's address from X-Forwarded-For, else X-Real-IP, of web servers at {}",
                options.name, joined(options.trusted_proxies));
}

std::string streams_line(const Settings& settings) {
  return format("{} at once, {} of one user; each user sees the events {}", settings.streams.max_streams,
                settings.streams.max_streams_per_user,
                settings.client.events_for_everybody ? "of all users" : "that external_auth allows");
}

std::string idle_line(const FrontEnds& front_ends) {
  const auto names = names_of(front_ends.idle);
  return format("the section{} {}: to serve {}, extend the list rest_fcgi: netapi",
                names.size() == 1 ? "" : "s", joined(names), names.size() == 1 ? "it" : "them");
}

double seconds_of(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

/// This time limit for replies is set in the configuration files of nginx/ and apache/.
constexpr std::chrono::seconds kWebServersWait{310};

/// Returns a note for each user in `external_auth` whose name looks like a pattern.
std::vector<std::string> notes_of_patterns(const Settings& settings) {
  std::vector<std::string> notes;
  for (const auth::EauthOptions& eauth : settings.auth.external_auth) {
    for (const auth::Principal& principal : eauth.principals) {
      if (principal.name == "*" || principal.name.find_first_of("*?[]{}()|") == std::string::npos) continue;
      const Error note = wrong_setting(format("external_auth: {}: {}", eauth.name, principal.name),
                                       "names of users are not patterns: only a user with exactly this name "
                                       "has these rules; '*' stands for every other user");
      notes.push_back(with_place(note, settings).message);
    }
  }
  return notes;
}

/// Returns notes about settings that are valid but may be unintended.
std::vector<std::string> notes(const Settings& settings) {
  std::vector<std::string> notes = notes_of_patterns(settings);
  for (const std::string& key : settings.front_ends.inert)
    notes.push_back(key + ": this key has no effect here");
  for (const auth::EauthOptions& eauth : settings.auth.external_auth) {
    if (eauth.name == "auto" && settings.auth.allow_auto_eauth && settings.engine == Engine::embedded)
      notes.push_back("external_auth: auto: accepts every password");
  }
  const auto longest = settings.client.request_timeout;
  if (longest >= kWebServersWait) {
    notes.push_back(
        format("rest_fcgi: request_timeout: found {} s, expected less than {} s, the timeout in the files of "
               "nginx/ and apache/: after it the web server replies with 504 and without the job id",
               seconds_of(longest), kWebServersWait.count()));
  }
  return notes;
}

}  // namespace

bool takes_hooks(const Settings& settings) {
  const auto& served = settings.front_ends.served;
  return std::any_of(served.begin(), served.end(),
                     [](netapi::Module module) { return module != netapi::Module::rest_wsgi; });
}

Result<std::string> local_events_url(const Settings& settings) {
  for (std::size_t i = 0; i < settings.gateway.http.size(); ++i) {
    const netapi::Module module = settings.front_ends.http[i];
    if (module == netapi::Module::rest_wsgi) continue;
    gateway::HttpOptions port = settings.gateway.http[i];
    if (!port.ssl_crt.empty()) {
      return Error{
          ErrorKind::configuration,
          format("--watch: found TLS on the port of {}, expected --url https://NAME:{} with the name "
                 "of its certificate",
                 port.name, port.port)};
    }
    if (port.host == "0.0.0.0" || port.host == "::") port.host = "127.0.0.1";
    const bool has_root = module == netapi::Module::rest_cherrypy;
    return url_of(port) + (has_root ? settings.rest_cherrypy.root_prefix : std::string());
  }
  return Error{
      ErrorKind::configuration,
      "--watch: found no port of rest_cherrypy or rest_tornado in the configuration, expected one, or "
      "--url URL"};
}

std::string summary(const Settings& settings, const CommandLine& command_line, std::string_view event_bus,
                    std::string_view hooks) {
  std::string text;
  const auto line = [&text](std::string_view name, std::string_view value) {
    text += format("{:<9} {}\n", format("{}:", name), value);
  };
  line("config", command_line.config);
  line("engine", settings.engine == Engine::salt ? "salt" : "embedded");
  line("listen", listen_line(settings));
  for (const std::string& served : served_lines(settings)) line("serves", served);
  for (const gateway::HttpOptions& port : settings.gateway.http) line("proxies", proxies_line(port));
  if (const auto& metrics = settings.front_ends.metrics) {
    line("metrics",
         metrics->unix_path.empty() ? url_of(*metrics) + "/metrics" : "unix:" + metrics->unix_path);
  }
  if (!settings.front_ends.idle.empty()) line("unserved", idle_line(settings.front_ends));
  if (takes_hooks(settings)) line("streams", streams_line(settings));
  line("clients", clients_line(settings.client, settings.engine));
  line("eauth", eauth_line(settings));
  if (settings.engine == Engine::salt) {
    line("master", master_line(settings.salt));
    line("events", event_bus);
    if (!hooks.empty()) line("hooks", hooks);
  } else {
    line("tokens", tokens_line(settings));
    line("jobs", jobs_line(settings));
    const std::size_t minions = settings.embedded.minions.size();
    line("minions", minions == 0 ? "1, named after this host" : std::to_string(minions));
    line("limits", "no states, no file or pillar roots, no packages; see modules.md");
  }
  line("log", format("{} to {}", kLevelNames[static_cast<std::size_t>(settings.log.level)],
                     settings.log.file.empty() ? "standard error" : settings.log.file));
  const std::string& audit = settings.log.audit_file;
  line("audit", format("{} to {}", settings.netapi.audit_as_json ? "json" : "text",
                       audit.empty() ? "the log" : audit));
  if (!settings.log.access_file.empty()) line("access", settings.log.access_file);
  if (!settings.log.error_file.empty()) line("errors", settings.log.error_file);
  for (const std::string& note : notes(settings)) line("note", note);
  for (const std::string& warning : settings.warnings) line("warning", warning);
  return text;
}

std::string start_line(const Settings& settings, const CommandLine& command_line) {
  std::vector<std::string> addresses;
  if (!settings.gateway.listen.empty()) addresses.push_back(settings.gateway.listen);
  for (const gateway::HttpOptions& port : settings.gateway.http) addresses.push_back(url_of(port));
  std::set<std::string_view> users;
  for (const auth::EauthOptions& eauth : settings.auth.external_auth) {
    for (const auth::Principal& one : eauth.principals) {
      if (one.name != "*" && !one.name.ends_with('%')) users.insert(one.name);
    }
  }
  return format("rest_fcgi {} has started: configuration {}, engine {}, addresses {}, {} {} in external_auth",
                kVersion, command_line.config, settings.engine == Engine::salt ? "salt" : "embedded",
                addresses.empty() ? "of the service manager" : joined(addresses), users.size(),
                users.size() == 1 ? "user" : "users");
}

/// Writes only the options that this function names. A new option therefore stays hidden until it is added
/// here. SaltGUI shows errors if `saltgui_full_return` or `saltgui_templates` is missing.
Json config_values(const Settings& settings, const Node& master_file) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  write_strings(writer.key("ext_job_cache"), settings.returner.ext_job_cache);
  writer.key("gather_job_timeout").number(seconds_of(settings.client.gather_job_timeout));
  writer.key("keep_jobs_seconds").integer(settings.returner.keep_jobs_seconds.count());
  writer.key("master_job_cache").string(settings.returner.master_job_cache);
  write_strings(writer.key("netapi_enable_clients"), names_of(settings.client.enabled));
  writer.key("nodegroups").begin_object();
  for (const master::NodegroupOptions& group : settings.embedded.nodegroups) {
    write_strings(writer.key(group.name), group.words);
  }
  const embedded::Options& embedded = settings.embedded;
  writer.end_object().key("rest_fcgi").begin_object().key("embedded").begin_object();
  writer.key("max_workers").integer(static_cast<std::int64_t>(embedded.max_workers));
  writer.key("max_queued").integer(static_cast<std::int64_t>(embedded.max_queued));
  writer.key("minions").begin_array();
  for (const embedded::MinionOptions& minion : embedded.minions) writer.string(minion.id);
  writer.end_array().end_object().key("engine").string("embedded").end_object();
  writer.key("rest_timeout").number(seconds_of(settings.client.rest_timeout));
  if (master_file.find("saltgui_full_return") == nullptr) writer.key("saltgui_full_return").boolean(true);
  if (master_file.find("saltgui_templates") == nullptr) {
    writer.key("saltgui_templates").begin_object().end_object();
  }
  for (const Entry& entry : master_file.entries) {
    if (entry.key.starts_with("saltgui_")) writer.key(entry.key).json(yaml::to_json(entry.value));
  }
  writer.key("timeout").number(seconds_of(settings.client.timeout)).end_object();
  return Json::trusted(std::move(text));
}

std::string idle_rule_line(std::string_view place, std::string_view text, std::string_view what,
                           const std::vector<std::string>& names) {
  const auto near = near_names(text, names, 1);
  return format("note:     {}: {}: {}{}\n", place, in_quotes(text), what,
                near.empty() ? "" : format("; did you mean '{}'?", near.front()));
}

std::string describe_rules(const Settings& settings, const CommandLine& command_line) {
  const std::string& user = command_line.username;
  const auto& eauths = settings.auth.external_auth;
  const auto file =
      std::find_if(eauths.begin(), eauths.end(), [](const auto& eauth) { return eauth.name == "file"; });
  for (const std::string& name : {user, std::string("*")}) {
    const auto has_name = [&name](const auth::Principal& principal) { return principal.name == name; };
    if (file == eauths.end() || std::none_of(file->principals.begin(), file->principals.end(), has_name))
      continue;
    return format("The rules of '{}' in external_auth apply to {}.\n", name, user);
  }
  const auto place = settings.places.find("external_auth: file");
  return format(
      "{0} may run nothing yet. Write a rule such as\n\n    {0}: ['test.*']\n\nbelow `file:` ({1}), and run: "
      "systemctl reload "
      "rest_fcgi\n",
      user, place == settings.places.end() ? command_line.config : place->second);
}

std::vector<std::string> restart_keys(const Settings& running, const Settings& wanted) {
  std::vector<std::string> keys;
  const auto add_missing = [&keys](const auto& from, const auto& in) {
    for (const auto& entry : from) {
      const bool same = std::find(in.begin(), in.end(), entry) != in.end();
      const bool known = std::find(keys.begin(), keys.end(), entry.first) != keys.end();
      if (!same && !known) keys.push_back(entry.first);
    }
  };
  add_missing(wanted.start_keys, running.start_keys);
  add_missing(running.start_keys, wanted.start_keys);
  return keys;
}

Settings Settings::without_jobs() && {
  returner = {};
  return std::move(*this);
}

Settings Settings::without_files() && {
  auth.tokens_in_etcd.reset();
  store = {};
  return std::move(*this).without_jobs();
}

}  // namespace rest_fcgi::config

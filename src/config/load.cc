// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "config/reader.h"
#include "config/sections.h"
#include "rest_fcgi/config/config.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/core/users.h"

namespace rest_fcgi::config {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Reads octal digits. The digits are not read as a YAML number, because YAML 1.1 and Salt read `0660` as
/// different numbers.
std::optional<mode_t> mode_in(const Node& node) {
  if (!node.is(Kind::integer) && !node.is(Kind::string)) return std::nullopt;
  std::string_view digits = node.text;
  if (digits.starts_with("0o")) digits.remove_prefix(2);
  const auto mode = parse_number<mode_t>(digits, 8);
  return digits.size() >= 3 && mode && *mode <= 0777 ? mode : std::nullopt;
}

void read_socket(Reader& section, gateway::Options& options) {
  section.read("listen", options.listen, kListenAddresses, [](const Node& node) {
    const bool fits = node.is(Kind::string) && is_listen_address(node.text);
    return fits ? std::optional(node.text) : std::nullopt;
  });
  section.at_start().read("socket_mode", options.socket_mode,
                          "octal permissions from 000 to 777, such as \"0660\"", mode_in);
  section.at_start().text("socket_owner", options.socket_owner);
  section.at_start().text("socket_group", options.socket_group);
  section.at_start().flag("allow_remote", options.allow_remote);
}

void read_threads(Reader& section, gateway::Options& options) {
  const Node* least = section.value("min_threads");
  section.count("min_threads", options.min_threads, kThreads);
  section.at_start().count("max_threads", options.max_threads, kThreads);
  if (options.min_threads > options.max_threads && least != nullptr) {
    section.unexpected(*least, "min_threads",
                       format("at most the value of max_threads, {}", options.max_threads));
  }
  options.min_threads = std::min(options.min_threads, options.max_threads);
  section.note_start_key("min_threads", options.min_threads);
  section.at_start().count("max_waiting", options.max_waiting, {0, kThreads.most});
}

void read_rest_fcgi(Reader& section, Reader& top, Settings& settings) {
  gateway::Options& options = settings.gateway;
  read_state_dir(section, top, settings);
  read_socket(section, options);
  read_threads(section, options);
  section.at_start().seconds("receive_timeout", options.receive_timeout, kTenthOfASecond, kDay);
  options.send_timeout = options.receive_timeout;
  section.at_start().seconds("idle_thread_timeout", options.idle_thread_timeout, kTenthOfASecond, kDay);
  section.at_start().seconds("shutdown_timeout", options.shutdown_timeout, milliseconds(0), kHour);
  section.seconds("request_timeout", settings.client.request_timeout, kTenthOfASecond, kDay);
  section.bytes("max_reply_bytes", settings.client.max_reply_bytes, {1024, 64 * kGiB});
  section.at_start().bytes("max_request_body_size", options.max_request_body_size, {64, kGiB});
  section.count("max_chunks", settings.netapi.lowstate.max_chunks, {1, 10000});
  section.log_level("log_level", settings.log.level);
  section.absolute_path("log_file", settings.log.file);
  section.absolute_path("audit_log", settings.log.audit_file);
  if (const auto chosen = section.choice("audit_format", {"text", "json"})) {
    settings.netapi.audit_as_json = *chosen == "json";
  }
  section.flag("allow_auto_eauth", settings.auth.allow_auto_eauth);
  read_front_ends(section, top, settings);
  section.whole_seconds("auth_cache_ttl", settings.auth.auth_cache_ttl, {0, 300});
  read_logins(section, settings);
  section.at_start().bytes("etcd_outbox_bytes", settings.returner.etcd.outbox_bytes, {64 * 1024, 64 * kGiB});
  std::size_t bytes = 0;
  section.at_start().bytes("jobs_bytes_kept", bytes, {1024, 64 * kGiB});
  if (bytes != 0) settings.returner.max_bytes = bytes;
  read_salt_section(section, settings);
  read_embedded_section(section, settings);
  section.refuse_unknown_keys();
}

constexpr std::size_t kPlaceDepth = 3;

void add_places(const Node& map, const std::string& above, Places& places, std::size_t depth = 1) {
  for (const Entry& entry : map.entries) {
    const std::string path = above + entry.key;
    places.emplace(path, format("{}:{}", *entry.place.file, entry.place.line));
    if (depth < kPlaceDepth) add_places(entry.value, path + ": ", places, depth + 1);
  }
}

/// A misspelt `rest_fcgi:` would turn off all settings of this program.
void refuse_misspelt_section(const Node& root, Findings& findings) {
  const std::string name = "rest_fcgi";
  for (const Entry& entry : root.entries) {
    if (entry.key == name) continue;
    if (entry.key.starts_with(name + ":")) {
      findings.add(entry.place, in_quotes(entry.key),
                   "found no space behind the colon, expected rest_fcgi: VALUE");
    } else if (!near_names(lower(entry.key), {name}, 1).empty()) {
      findings.add(entry.place, in_quotes(entry.key), "unknown key, did you mean rest_fcgi?");
    }
  }
}

/// Checks that the service of this process can run: the engine is that of `--engine`, and the Salt master has
/// the same user as this process.
Result<void> check_service(const Settings& settings, const CommandLine& command_line) {
  if (!command_line.engine) return {};
  const bool is_salt = command_line.engine == Engine::salt;
  if (settings.engine != *command_line.engine) {
    return Error{ErrorKind::configuration,
                 is_salt ? format("{}: found no rest_fcgi: {{engine: salt}}, expected it. As root: echo "
                                  "'rest_fcgi: {{engine: salt, netapi: [rest_cherrypy]}}' > "
                                  "/etc/salt/master.d/rest_fcgi.conf",
                                  command_line.config)
                         : format("{}: found rest_fcgi: {{engine: salt}}, expected the engine embedded",
                                  command_line.config)};
  }
  const std::string user = user_name(::geteuid()).value_or(std::to_string(::geteuid()));
  // Root may check the configuration of a service that has another user.
  const bool is_check = ::geteuid() == 0 && command_line.action != CommandLine::Action::serve;
  if (!is_salt || is_check || user == settings.master_user) return {};
  return Error{
      ErrorKind::configuration,
      format("user: found {} in {}, expected {}, the user of this service. Write these two lines with "
             "`systemctl edit rest_fcgi-salt`:\n[Service]\nUser={}",
             settings.master_user, command_line.config, user, settings.master_user)};
}

}  // namespace

Settings read_settings(const Node& root, Findings& findings) {
  Settings settings;
  refuse_misspelt_section(root, findings);
  Reader top(&root, "", findings, Style::lenient);
  Reader section = top.own_section("rest_fcgi");
  if (section.choice("engine", {"embedded", "salt"}) == "salt") settings.engine = Engine::salt;
  read_salt_keys(top, settings);
  if (const Node* user = top.value("user"); user != nullptr && user->is(Kind::string)) {
    settings.master_user = user->text;
  }
  read_recorded_jobs(section, top, settings);
  read_rest_fcgi(section, top, settings);
  if (settings.engine == Engine::embedded) warn_of_keys_of_masters(root, findings);
  note_etcd_returner(top, settings.returner.etcd);
  // These keys of Salt resemble keys of this program. They are valid, so they cause no spelling warning.
  top.warn_of_near_keys({"fips_mode", "master_type", "pillar_opts", "render_dirs"});
  return settings;
}

Result<Settings> load(const CommandLine& command_line) {
  auto master = read_master_file(command_line.config);
  if (!master) return std::move(master).error();
  Findings findings;
  Settings settings = read_settings(master->root, findings);
  if (findings.mistake()) return *findings.mistake();
  settings.warnings.insert(settings.warnings.begin(), master->warnings.begin(), master->warnings.end());
  add_places(master->root, "", settings.places);
  settings.gateway.advice = listening_advice(settings);
  if (command_line.listen) settings.gateway.listen = *command_line.listen;
  findings.add_start_key("rest_fcgi: listen", settings.gateway.listen);
  settings.start_keys = findings.take_start_keys();
  for (std::string& warning : findings.take_warnings()) settings.warnings.push_back(std::move(warning));
  if (command_line.log_level) settings.log.level = *command_line.log_level;
  settings.salt.timeout = settings.client.timeout;
  settings.salt.conf_file = command_line.config;
  settings.embedded.config_values = config_values(settings, master->root);
  if (auto fits = check_service(settings, command_line); !fits) return std::move(fits).error();
  return settings;
}

Error with_place(Error error, const Settings& settings) {
  const std::string_view key = error.key;
  for (std::size_t end = key.size(); end != 0 && end != std::string_view::npos;
       end = key.rfind(": ", end - 1)) {
    auto place = settings.places.find(key.substr(0, end));
    // A component may name a key of the section `rest_fcgi:` without this section.
    if (place == settings.places.end())
      place = settings.places.find(format("rest_fcgi: {}", key.substr(0, end)));
    if (place == settings.places.end()) continue;
    error.message = format("{}: {}", place->second, error.message);
    break;
  }
  return error;
}

}  // namespace rest_fcgi::config

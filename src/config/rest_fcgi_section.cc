// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>

#include "config/names.h"
#include "config/sections.h"

namespace rest_fcgi::config {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kTenthOfASecond{100};
constexpr seconds kHour{3600};
constexpr seconds kDay{86400};
constexpr Range kThreads{1, 16384};
constexpr std::int64_t kGiB = 1024 * 1024 * 1024;

/// The octal digits of a mode: YAML 1.1 and Salt disagree about what number `0660` is, and both are not what
/// is meant.
std::optional<mode_t> mode_in(const Node& node) {
  if (!node.is(Kind::integer) && !node.is(Kind::string)) return std::nullopt;
  std::string_view digits = node.text;
  if (digits.starts_with("0o")) digits.remove_prefix(2);
  unsigned mode = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), mode, 8);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.size() < 3 || mode > 0777) {
    return std::nullopt;
  }
  return mode;
}

void read_socket(Reader& section, gateway::Options& options) {
  if (const Node* listen = section.value("listen")) {
    if (listen->is(Kind::string) && is_listen_address(listen->text)) {
      options.listen = listen->text;
    } else {
      section.unexpected(*listen, "listen", kListenAddresses);
    }
  }
  if (const Node* node = section.value("socket_mode")) {
    const auto mode = mode_in(*node);
    if (!mode)
      section.unexpected(*node, "socket_mode", "octal permissions from 000 to 777, such as \"0660\"");
    options.socket_mode = mode.value_or(options.socket_mode);
  }
  section.text("socket_owner", options.socket_owner);
  section.text("socket_group", options.socket_group);
  section.flag("allow_remote", options.allow_remote);
}

void read_threads(Reader& section, gateway::Options& options) {
  const Node* least = section.value("min_threads");
  section.count("min_threads", options.min_threads, kThreads);
  section.count("max_threads", options.max_threads, kThreads);
  section.count("max_waiting", options.max_waiting, {0, kThreads.most});
  if (options.min_threads <= options.max_threads) return;
  if (least != nullptr) {
    section.unexpected(*least, "min_threads", format("no more than max_threads, {}", options.max_threads));
  }
  options.min_threads = options.max_threads;
}

void read_timeouts(Reader& section, Settings& settings) {
  gateway::Options& options = settings.gateway;
  section.seconds("receive_timeout", options.receive_timeout, kTenthOfASecond, kDay);
  section.seconds("send_timeout", options.send_timeout, kTenthOfASecond, kDay);
  section.seconds("idle_thread_timeout", options.idle_thread_timeout, kTenthOfASecond, kDay);
  section.seconds("keep_conn_timeout", options.keep_conn_timeout, kTenthOfASecond, kDay);
  section.seconds("shutdown_timeout", options.shutdown_timeout, milliseconds(0), kHour);
  section.seconds("request_timeout", settings.client.request_timeout, kTenthOfASecond, kDay);
}

void read_request_limits(Reader& section, Settings& settings) {
  lowstate::Options& options = settings.netapi.lowstate;
  section.bytes("max_request_body_size", settings.gateway.max_request_body_size, {64, kGiB});
  section.count("max_nesting", options.json.max_depth, {2, 500});
  section.count("max_key_length", options.json.max_key_length, {16, 65536});
  section.count("max_values", options.json.max_values, {100, 100000000});
  section.count("max_chunks", options.max_chunks, {1, 10000});
}

void read_logs(Reader& section, Settings& settings) {
  section.log_level("log_level", settings.log.level);
  section.absolute_path("log_file", settings.log.file);
  section.absolute_path("audit_log", settings.log.audit_file);
  if (const auto chosen = section.choice("audit_format", {"text", "json"})) {
    settings.netapi.audit_as_json = *chosen == "json";
  }
}

void read_proc_dir(Reader& embedded, embedded::Options& options) {
  const Node* node = embedded.value("proc_dir");
  options.proc_dir_is_default = node == nullptr;
  if (node == nullptr) return;
  if (node->is(Kind::string) && (node->text.empty() || node->text.starts_with('/'))) {
    options.proc_dir = node->text;
  } else {
    embedded.unexpected(*node, "proc_dir", "a path that begins with a slash, or '' for none");
  }
}

void read_run_helper(Reader& embedded, std::string& helper) {
  const Node* node = embedded.value("run_helper");
  if (node == nullptr) return;
  if (!node->is(Kind::string) || (!node->text.starts_with('/') && !node->text.starts_with("unix:/"))) {
    return embedded.unexpected(*node, "run_helper", "a path that begins with a slash, or unix:PATH");
  }
  helper = node->text;
}

void read_script_modules(Reader& embedded, embedded::ModuleOptions& options) {
  if (const Node* folders = embedded.list("module_dirs")) {
    for (const Node& folder : folders->items) {
      if (folder.is(Kind::string) && folder.text.starts_with('/')) {
        options.module_dirs.push_back(folder.text);
      } else {
        embedded.unexpected(folder, "module_dirs", "paths that begin with a slash");
      }
    }
  }
  embedded.seconds("script_timeout", options.script_timeout, kTenthOfASecond, kDay);
  embedded.text("script_user", options.script_user);
  read_run_helper(embedded, options.run_helper);
}

void read_embedded(Reader embedded, embedded::Options& options) {
  if (const Node* minions = embedded.value("minions")) {
    options.minions = read_minions(*minions, embedded.path_to("minions"), embedded.mistakes());
  }
  embedded.count("max_workers", options.max_workers, kThreads);
  embedded.count("max_queued", options.max_queued, {0, 1000000});
  embedded.bytes("max_queued_bytes", options.max_queued_bytes, {1024, 64 * kGiB});
  embedded.absolute_path("file_root", options.modules.file_root);
  read_proc_dir(embedded, options);
  read_script_modules(embedded, options.modules);
  embedded.refuse_unknown_keys();
}

}  // namespace

void read_engine(Reader& section, Settings& settings) {
  const auto engine = section.choice("engine", {"embedded", "salt"});
  if (engine && *engine == "salt") settings.engine = Engine::salt;
}

void read_rest_fcgi(Reader& section, Settings& settings) {
  read_socket(section, settings.gateway);
  read_threads(section, settings.gateway);
  read_timeouts(section, settings);
  read_request_limits(section, settings);
  read_logs(section, settings);
  section.whole_seconds("auth_cache_ttl", settings.auth.auth_cache_ttl, {0, 300});
  section.flag("allow_auto_eauth", settings.auth.allow_auto_eauth);
  read_logins(section, settings);
  section.count("jobs_kept", settings.returner.max_jobs, {1, 10000000});
  section.bytes("jobs_spool_bytes", settings.returner.spool_bytes, {64 * 1024, kGiB});
  section.bytes("jobs_bytes_kept", settings.returner.max_bytes, {1024, 64 * kGiB});
  read_embedded(section.section("embedded"), settings.embedded);
  read_host_number(section, settings);
  read_salt_section(section, settings.salt);
  check_file_root(section.section("embedded"), settings);
  section.refuse_unknown_keys();
}

}  // namespace rest_fcgi::config

// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "config_dir.h"

namespace rest_fcgi::config {
namespace {

using std::chrono::milliseconds;

/// Returns the error message for one entry of the section `rest_fcgi`. The message begins with the key.
std::string mistake(const std::string& entry) {
  const std::string message = error_of("rest_fcgi:\n  " + entry + "\n");
  const std::string prefix = "master:2: rest_fcgi: ";
  return message.starts_with(prefix) ? message.substr(prefix.size()) : "without its place: " + message;
}

Settings with(const std::string& entry) {
  return settings_of("rest_fcgi:\n  " + entry + "\n");
}

TEST_CASE("an empty file, and an empty section, give the defaults") {
  const Settings settings = settings_of("");
  CHECK(settings.warnings.empty());
  CHECK(settings.engine == Engine::embedded);
  CHECK(settings.client.enabled.empty());
  CHECK(settings.auth.external_auth.empty());
  CHECK(settings.gateway.max_threads == gateway::Options().max_threads);
  CHECK(settings.gateway.max_request_body_size == gateway::Options().max_request_body_size);
  for (const char* section : {"rest_fcgi: {}\n", "rest_fcgi:\n", "rest_fcgi:\n  embedded:\n"})
    CHECK(restart_keys(settings_of(section), settings).empty());
}

TEST_CASE("every key of the socket is read, and its mode is octal, however it is written") {
  CHECK(with("listen: unix:/run/rest_fcgi.sock").gateway.listen == "unix:/run/rest_fcgi.sock");
  CHECK(with("listen: tcp:127.0.0.1:9000").gateway.listen == "tcp:127.0.0.1:9000");
  CHECK(with("listen: 'tcp:[::1]:9000'").gateway.listen == "tcp:[::1]:9000");
  CHECK(with("listen: fd:0").gateway.listen == "fd:0");
  CHECK(with("socket_owner: www-data").gateway.socket_owner == "www-data");
  CHECK(with("socket_group: www-data").gateway.socket_group == "www-data");
  CHECK(with("allow_remote: yes").gateway.allow_remote);
  for (const char* text : {"0640", "640", "'0640'", "\"640\"", "0o640"}) {
    CAPTURE(text);
    CHECK(with(std::string("socket_mode: ") + text).gateway.socket_mode == 0640);
  }
  CHECK(with("socket_mode: '000'").gateway.socket_mode == 0);
}

TEST_CASE("every limit of the gateway is read, and bytes may be written with K, M or G") {
  const gateway::Options options =
      with(
          "{min_threads: 2, max_threads: 3, max_waiting: 0, max_request_body_size: 4096, receive_timeout: "
          "1.5,\n   max_body_bytes: 1K, idle_thread_timeout: 3, shutdown_timeout: 0}")
          .gateway;
  CHECK(options.min_threads == 2);
  CHECK(options.max_threads == 3);
  CHECK(options.max_waiting == 0);
  CHECK(options.max_request_body_size == 4096);
  CHECK(options.receive_timeout == milliseconds(1500));
  CHECK(options.send_timeout == milliseconds(1500));
  CHECK(options.max_body_bytes == 1024);
  CHECK(options.idle_thread_timeout == milliseconds(3000));
  CHECK(options.shutdown_timeout == milliseconds(0));
  const auto body = [](const char* text) {
    return with(std::string("max_request_body_size: ") + text).gateway.max_request_body_size;
  };
  CHECK(body("64K") == 65536);
  CHECK(body("1M") == 1048576);
  CHECK(body("'2m'") == 2097152);
  CHECK(body("1G") == 1073741824);
}

TEST_CASE("every key of logs is read; rest_fcgi: log_level replaces Salt's, and --log-level replaces both") {
  const Settings settings =
      with("{log_level: debug, log_file: /var/log/a, audit_log: /var/log/b, audit_format: json}");
  CHECK(settings.log.level == log::Level::debug);
  CHECK(settings.log.file == "/var/log/a");
  CHECK(settings.log.audit_file == "/var/log/b");
  CHECK(settings.netapi.audit_as_json);
  CHECK_FALSE(with("audit_format: text").netapi.audit_as_json);
  CHECK(with("log_level: WARNING").log.level == log::Level::warning);
  CHECK(settings_of("log_level: debug\n").log.level == log::Level::debug);
  CHECK(settings_of("log_level: debug\nrest_fcgi: {log_level: error}\n").log.level == log::Level::error);
  const ConfigDir dir("rest_fcgi: {log_level: error, listen: 'unix:/a'}\n");
  CommandLine command_line = dir.command_line();
  command_line.log_level = log::Level::info;
  command_line.listen = "unix:/b";
  const auto both = *load(command_line);
  CHECK(both.log.level == log::Level::info);
  CHECK(both.gateway.listen == "unix:/b");
}

TEST_CASE("file_root is an absolute path that overlaps no trusted folder") {
  CHECK(with("embedded: {file_root: /srv/files}").embedded.modules.file_root == "/srv/files");
  CHECK(with("embedded: {}").embedded.modules.file_root.empty());
  for (const char* overlap : {"embedded: {file_root: /srv, module_dirs: [/srv/modules]}",
                              "embedded: {file_root: /srv/modules/x, module_dirs: [/srv/modules]}",
                              "embedded: {file_root: /srv/../, module_dirs: [/srv/modules]}",
                              "embedded: {file_root: /var/cache/salt}",
                              "{embedded: {file_root: /var/log}, log_file: /var/log/rest_fcgi.log}"}) {
    CHECK_MESSAGE(mistake(overlap).find("file_root: found ") != std::string::npos, overlap);
  }
  check_message(mistake("embedded: {file_root: /var/cache/salt/master/rest_fcgi}"),
                "embedded: file_root: found ", {"cachedir"});
  CHECK(
      with("embedded: {file_root: /srv/modules2, module_dirs: [/srv/modules]}").embedded.modules.file_root ==
      "/srv/modules2");
  CHECK(mistake("embedded: {file_root: files}") ==
        "embedded: file_root: found \"files\", expected a path that begins with a slash");
}

TEST_CASE("every other key is read") {
  const Settings settings = with(
      "{engine: embedded, auth_cache_ttl: 0, allow_auto_eauth: true, jobs_bytes_kept: 1M,\n"
      "   etcd_outbox_bytes: 2M, max_chunks: 5, request_timeout: 0.5, max_reply_bytes: 64K,\n"
      "   embedded: {max_workers: 7, max_queued: 0}}");
  CHECK(settings.engine == Engine::embedded);
  CHECK(settings.auth.auth_cache_ttl == std::chrono::seconds(0));
  CHECK(settings.auth.allow_auto_eauth);
  CHECK(settings.netapi.lowstate.max_chunks == 5);
  CHECK(settings.client.request_timeout == milliseconds(500));
  CHECK(settings.client.max_reply_bytes == 65536);
  CHECK(settings.returner.max_bytes == 1048576);
  CHECK(settings.returner.etcd.outbox_bytes == 2097152);
  CHECK(settings.embedded.max_workers == 7);
  CHECK(settings.embedded.max_queued == 0);
}

TEST_CASE("a value of the wrong type or out of range is a mistake with its key and value") {
  const auto check = [](const std::string& key, std::initializer_list<const char*> values) {
    for (const std::string value : values) {
      CAPTURE(value);
      check_message(mistake(key + ": " + value), key + ": found ", {", expected "});
    }
  };
  CHECK(mistake("max_threads: 0") == "max_threads: found 0, expected an integer from 1 to 16384");
  check("max_threads", {"0", "16385", "'4'", "4.0", "yes", "", "[1]", "99999999999999999999"});
  check("max_waiting", {"-1", "16385"});
  check("max_chunks", {"0", "10001"});
  check("auth_cache_ttl", {"301", "1.5"});
  check("max_request_body_size",
        {"63", "2G", "1.5", "1T", "M", "xM", "9223372036854775807G", "99999999999999999999K", "-1M", "yes"});
  check("jobs_bytes_kept", {"1"});
  for (const char* key : {"receive_timeout", "idle_thread_timeout", "request_timeout"})
    check(key, {"0", "86400.5", ".nan", ".inf", "5s"});
  check("shutdown_timeout", {"-1", "3601"});
  check("socket_owner", {"33"});
  check("socket_group", {"[a]"});
  check("allow_remote", {"1", "'yes'"});
  check("log_file", {"log", "5"});
  check("audit_format", {"xml"});
  check("log_level", {"off", "loud"});
  check("engine", {"pepper", "5"});
  check("listen", {"'unix:'", "tcp:localhost", "'tcp::9000'", "tcp:h:0", "tcp:h:65536", "tcp:h:9x",
                   "'tcp:h:'", "fd:1", "/run/x.sock", "''", "9000"});
  check("socket_mode", {"rw", "'0888'", "01777", "'66'", "1.5", "''", "[a]"});
  check_message(mistake("embedded: {max_workers: 0}"), "embedded: max_workers: found 0");
  check_message(mistake("embedded: {max_queued: -1}"), "embedded: max_queued: found -1");
  const std::string text = mistake("{min_threads: 9, max_threads: 8}");
  CHECK(text.starts_with("min_threads: found 9, "));
  CHECK(text.ends_with("max_threads, 8"));
  const gateway::Options options = with("max_threads: 1").gateway;
  CHECK(options.min_threads == 1);
  CHECK(options.max_threads == 1);
}

TEST_CASE("salt_ssh names salt-ssh and the program that starts it") {
  const salt::SshOptions none = with("salt_ssh: {}").salt.ssh;
  CHECK(none.program.empty());
  CHECK(none.run_helper.empty());
  const salt::SshOptions all =
      with("salt_ssh: {program: /opt/salt/salt-ssh, run_helper: 'unix:/run/x.sock'}").salt.ssh;
  CHECK(all.program == "/opt/salt/salt-ssh");
  CHECK(all.run_helper == "unix:/run/x.sock");
  check_message(mistake("salt_ssh: {program: salt-ssh}"), "salt_ssh: program: found \"salt-ssh\"");
  check_message(mistake("salt_ssh: {run_helper: x}"), "salt_ssh: run_helper: found \"x\"");
  check_message(mistake("salt_ssh: {roster: x}"), "salt_ssh: \"roster\": unknown key");
}

TEST_CASE("a section that is not a map, and an unknown key, are mistakes of one line") {
  CHECK(mistake("max_thread: 4") == "\"max_thread\": unknown key, did you mean max_threads?");
  CHECK(mistake("recieve_timeout: 4") == "\"recieve_timeout\": unknown key, did you mean receive_timeout?");
  CHECK(mistake("embedded: {minion: [a]}") == "embedded: \"minion\": unknown key, did you mean minions?");
  CHECK(mistake("embedded: {zebra: [a]}") == "embedded: \"zebra\": unknown key");
  CHECK(mistake("\"a\\nb\": 4").find('\n') == std::string::npos);
  CHECK(error_of("timeout: 5\nrest_fcgi: [a]\n") == "master:2: rest_fcgi: found a list, expected a map");
  CHECK(mistake("embedded: 5") == "embedded: found 5, expected a map");
}

}  // namespace
}  // namespace rest_fcgi::config

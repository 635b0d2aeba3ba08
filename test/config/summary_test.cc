// SPDX-License-Identifier: MIT
#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "config/reader.h"
#include "config_dir.h"
#include "rest_fcgi/config/config.h"

namespace rest_fcgi::config {
namespace {

std::string shown(const std::string& master) {
  const ConfigDir dir(master);
  const auto settings = *dir.load();
  return dir.without_dir(summary(settings, dir.command_line()));
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

void check_line(const std::string& text, const std::string& name,
                std::initializer_list<std::string_view> facts) {
  const std::string beginning = "\n" + name + ":";
  const std::size_t at = ("\n" + text).find(beginning);
  CAPTURE(text);
  REQUIRE(at != std::string::npos);
  check_message(text.substr(at, text.find('\n', at) - at), name + ":", facts);
}

TEST_CASE("the summary of an empty configuration names the keys to set") {
  const std::string text = shown("");
  CHECK(has_line(text, "config:   master"));
  CHECK(has_line(text, "engine:   embedded"));
  check_line(text, "listen", {"file descriptor 0"});
  check_line(text, "clients", {"none", "netapi_enable_clients: [local, runner]"});
  check_line(text, "eauth", {"none", "external_auth"});
  check_line(text, "tokens", {"/var/cache/salt/master/rest_fcgi/state.db", "43200 seconds"});
  check_line(text, "jobs", {"/var/cache/salt/master/rest_fcgi/state.db", "86400 seconds"});
  check_line(text, "minions", {"1"});
  check_line(text, "log", {"warning to standard error"});
  check_line(text, "audit", {"text to the log"});
}

TEST_CASE("the summary lists the enabled features, and says where in etcd tokens and jobs are") {
  const std::string text = shown(
      "netapi_enable_clients: [local, ssh]\n"
      "external_auth: {file: {alice: [], bob%: []}, pam: {x: []}, ldap: {x: []}}\n"
      "include: none.conf\n"
      "rest_fcgi: {listen: 'unix:/run/a', log_file: /var/log/a, log_level: debug, audit_log: /var/log/b,\n"
      "            audit_format: json, embedded: {minions: [a, b]}}\n");
  CHECK(has_line(text, "listen:   unix:/run/a"));
  check_line(text, "clients", {"local, ssh (", "engine: salt"});
  check_line(text, "eauth", {"file (2 users or groups), pam (1 user or group), ldap (off: "});
  CHECK(has_line(text, "minions:  2"));
  CHECK(has_line(text, "log:      debug to /var/log/a"));
  CHECK(has_line(text, "audit:    json to /var/log/b"));
  CHECK(has_line(text, "warning:  master: include: \"none.conf\" matches no file"));
  const std::string in_etcd =
      shown("eauth_tokens: etcd\nmaster_job_cache: etcd\netcd.ttl: 60\netcd.host: [e1, e2]\n");
  check_line(in_etcd, "tokens", {"etcd at http://e1:2379, http://e2:2379", "/salt/tokens", "43200 seconds"});
  check_line(in_etcd, "jobs", {"etcd at http://e1:2379, http://e2:2379", "/salt/return", "60 seconds"});
}

TEST_CASE("the summary notes users whose names look like patterns") {
  const auto has_note = [](std::string_view name) {
    const std::string text = shown(format("external_auth: {{file: {{'{}': [test.ping]}}}}\n", name));
    return text.find(format("external_auth: file: {}: names of users are not patterns", name)) !=
           std::string::npos;
  };
  for (const char* name : {"dev*", "dev.*", "web[12]", "a|b", "(a)", "dev?", "team*%"}) CHECK(has_note(name));
  for (const char* name : {"*", "first.last", "wheel%", "DOMAIN\\eve", "a+b@example.org"}) {
    CHECK_FALSE(has_note(name));
  }
}

TEST_CASE("the summary notes valid settings that are often not meant") {
  const std::string text = shown(
      "external_auth:\n"
      "  auto: {x: [test.ping]}\n"
      "  file: {alice: [.*]}\n"
      "rest_fcgi: {allow_auto_eauth: true, request_timeout: 310}\n");
  const std::size_t first = text.find("note:     external_auth: auto: accepts every password\n");
  REQUIRE(first != std::string::npos);
  CHECK(text.find("note:     rest_fcgi: request_timeout: found 310 s") != std::string::npos);
  CHECK(std::count(text.begin() + static_cast<std::ptrdiff_t>(first), text.end(), '\n') == 2);
  CHECK(shown("rest_fcgi: {request_timeout: 309}\nexternal_auth: {auto: {x: [test.ping]}}\n").find("note:") ==
        std::string::npos);
}

TEST_CASE("the summary says which module is served where") {
  const std::string text = shown(
      "rest_fcgi: {netapi: [rest_wsgi, rest_cherrypy, rest_tornado], mount: {/: rest_wsgi, /api: "
      "rest_cherrypy}}\n"
      "rest_cherrypy: {port: 8000, host: '::', ssl_crt: /c.pem, log_access_file: /l/a, log_error_file: "
      "/l/e}\n"
      "rest_tornado: {port: 8001, disable_ssl: true, num_processes: 4, websockets: true}\n");
  CHECK(has_line(text,
                 "listen:   the socket on file descriptor 0, if there is one\n"
                 "serves:   rest_wsgi at / over FastCGI\n"
                 "serves:   rest_cherrypy at /api over FastCGI\n"
                 "serves:   rest_cherrypy at https://[::]:8000\n"
                 "serves:   rest_tornado at http://[::]:8001, without TLS"));
  check_line(text, "streams", {"2000 at once, 500 of one user", "external_auth"});
  check_line(
      shown(
          "rest_fcgi: {netapi: [rest_tornado], events: everybody, max_streams: 9, max_streams_per_user: 3}\n"
          "rest_tornado: {port: 1, disable_ssl: true}\n"),
      "streams", {"9 at once, 3 of one user", "of all users"});
  CHECK(has_line(text, "access:   /l/a\nerrors:   /l/e"));
  CHECK(text.find("note:     rest_tornado: num_processes: ") != std::string::npos);
  CHECK(text.find("unserved") == std::string::npos);
  check_line(shown("rest_cherrypy: {port: 8000}\nrest_tornado: {port: 8001}\n"), "unserved",
             {"rest_cherrypy, rest_tornado", "rest_fcgi: netapi"});
  check_line(shown("rest_fcgi: {netapi: [rest_wsgi]}\nrest_tornado: {port: 8001}\n"), "unserved",
             {"rest_tornado"});
}

TEST_CASE("the summary names trusted web servers and required client certificates of each port") {
  const auto on = [](std::string_view own, std::string_view port) {
    return shown("rest_fcgi: {netapi: [rest_cherrypy]" + std::string(own) +
                 "}\nrest_cherrypy: {port: 8000, " + std::string(port) + "}\n");
  };
  const std::string plain = "disable_ssl: true, host: 127.0.0.1";
  const std::string tls = "host: 127.0.0.1, ssl_crt: /c.pem, ssl_key: /k.pem";
  check_line(on("", plain), "proxies", {"X-Forwarded-For", "127.0.0.0/8, ::1"});
  check_line(on(", trusted_proxies: [10.0.0.1]", tls), "proxies", {"web servers at 10.0.0.1"});
  check_line(on(", trusted_proxies: []", plain), "proxies", {"no web server"});
  const std::string names = ", ssl_ca_certs: /ca, ssl_allowed_cn: [a, b]";
  CHECK(on("", tls + ", ssl_cert_reqs: CERT_REQUIRED" + names).find("required: signed by /ca, CN a or b") !=
        std::string::npos);
  CHECK(on("", tls + ", ssl_cert_reqs: CERT_OPTIONAL, ssl_ca_certs: /ca")
            .find("optional: signed by /ca, any CN") != std::string::npos);
}

TEST_CASE("keys that take effect at start only are found where they differ") {
  const Settings before = settings_of("");
  CHECK(
      restart_keys(before, settings_of("timeout: 9\nrest_fcgi: {max_chunks: 5, embedded: {minions: [a]}}\n"))
          .empty());
  const Settings after = settings_of(
      "master_job_cache: memory\next_job_cache: sqlite3\nkeep_jobs_seconds: 1\n"
      "rest_fcgi: {listen: 'unix:/a', socket_mode: '0600', max_threads: 3, receive_timeout: 1, "
      "jobs_bytes_kept: 1M,\n"
      "  trusted_proxies: [127.0.0.1], embedded: {max_workers: 1}}\n");
  const auto keys = restart_keys(before, after);
  CHECK(std::set<std::string>(keys.begin(), keys.end()) ==
        std::set<std::string>{"master_job_cache", "ext_job_cache", "keep_jobs_seconds", "rest_fcgi: listen",
                              "rest_fcgi: socket_mode", "rest_fcgi: max_threads", "rest_fcgi: min_threads",
                              "rest_fcgi: receive_timeout", "rest_fcgi: jobs_bytes_kept",
                              "rest_fcgi: trusted_proxies", "rest_fcgi: embedded: max_workers"});
}

TEST_CASE("idle_rule_line suggests the most similar name") {
  const auto line = [](const std::string& text) {
    return idle_rule_line("master:3: alice", text, "no such function",
                          {"test.ping", "test.*", "grains.items"});
  };
  const std::string beginning = "note:     master:3: alice: ";
  CHECK(line("test.pnig") == beginning + "\"test.pnig\": no such function; did you mean 'test.ping'?\n");
  CHECK(line("tset.*") == beginning + "\"tset.*\": no such function; did you mean 'test.*'?\n");
  CHECK(line("pkg.install") == beginning + "\"pkg.install\": no such function\n");
}

TEST_CASE("the line of the start has the engine, the addresses and the number of users") {
  const ConfigDir dir(
      "external_auth: {file: {^filename: /u, alice: ['.*'], bob: ['.*'], 'ops%': ['.*']}, pam: {alice: "
      "['.*'], '*': ['.*']}}\n"
      "rest_fcgi: {listen: 'unix:/run/a', netapi: [rest_cherrypy]}\n"
      "rest_cherrypy: {host: 127.0.0.1, port: 8000, disable_ssl: true}\n");
  const auto settings = load(dir.command_line());
  REQUIRE_MESSAGE(settings, settings.error().message);
  const std::string line = start_line(*settings, dir.command_line());
  for (const std::string& fact : {dir / "master", std::string("engine embedded"), std::string("unix:/run/a"),
                                  std::string("http://127.0.0.1:8000"), std::string("2 users")}) {
    CAPTURE(fact);
    CHECK(line.find(fact) != std::string::npos);
  }
}

TEST_CASE("an added user has rules, or is told how to write them") {
  const ConfigDir dir("external_auth: {file: {^filename: /u, alice: ['.*']}}\n");
  const auto settings = load(dir.command_line());
  CommandLine command_line = dir.command_line();
  command_line.username = "alice";
  CHECK(describe_rules(*settings, command_line).find("apply to alice") != std::string::npos);
  command_line.username = "bob";
  const std::string advice = describe_rules(*settings, command_line);
  for (const std::string& fact :
       {std::string("bob: ["), (dir / "master") + ":1", std::string("systemctl reload")}) {
    CAPTURE(fact);
    CHECK(advice.find(fact) != std::string::npos);
  }
}

}  // namespace
}  // namespace rest_fcgi::config

// SPDX-License-Identifier: MIT
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "../support/environment.h"
#include "config_dir.h"

namespace rest_fcgi::config {
namespace {

std::string shown(const std::string& master) {
  const ConfigDir dir(master);
  const auto settings = dir.load();
  REQUIRE(settings);
  return dir.without_dir(summary(*settings, dir.command_line()));
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST_CASE("the summary of an empty configuration says what is missing, and how to turn it on") {
  CHECK(shown("") ==
        "config:   master\n"
        "engine:   embedded\n"
        "listen:   the socket on file descriptor 0\n"
        "clients:  none: every request will be refused; name some in netapi_enable_clients, such as "
        "netapi_enable_clients: [local, runner]\n"
        "eauth:    none: nobody can log in; name back ends, users and functions in external_auth\n"
        "tokens:   in /var/cache/salt/master/rest_fcgi/state.db, for 43200 seconds\n"
        "jobs:     in /var/cache/salt/master/rest_fcgi/state.db, for 86400 seconds\n"
        "minions:  1, named after this host\n"
        "limits:   no states, no file or pillar roots, no packages; README.md and deploy/modules.md say what "
        "there "
        "is\n"
        "log:      warning to standard error\n"
        "audit:    text to the log\n");
}

TEST_CASE("the client ssh is part of the engine for a real master") {
  CHECK(has_line(shown("netapi_enable_clients: [local, ssh]\nrest_fcgi: {engine: salt}\n"),
                 "clients:  local, ssh"));
}

TEST_CASE("the client ssh without salt-ssh is a warning that names the key for it") {
  const test::TempDir empty;
  const test::ScopedVariable path("PATH", empty.path().string());
  const std::string enabled = "netapi_enable_clients: [ssh]\n";
  const auto warns = [](const std::string& text) {
    return text.find("salt_ssh: program") != std::string::npos;
  };
  CHECK(warns(shown(enabled + "rest_fcgi: {engine: salt}\n")));
  CHECK(warns(shown(enabled + "rest_fcgi: {engine: salt, salt_ssh: {program: /none}}\n")));
  CHECK_FALSE(warns(shown(enabled + "rest_fcgi: {engine: salt, salt_ssh: {program: /bin/sh}}\n")));
  CHECK_FALSE(warns(shown(enabled)));
  const std::string plain = (empty.path() / "plain").string();
  std::ofstream(plain) << "#!/bin/sh\n";
  const auto shows = [&](const std::string& keys, const std::string& warning) {
    const std::string text = shown(enabled + "rest_fcgi: {engine: salt, salt_ssh: {" + keys + "}}\n");
    CHECK_MESSAGE(text.find(warning) != std::string::npos, text);
  };
  shows("program: /none", "master:2: rest_fcgi: salt_ssh: program: /none does not exist");
  shows("program: " + plain, "salt_ssh: program: " + plain + " is no file that this user may run");
  shows("program: /bin/sh, run_helper: /none",
        "master:2: rest_fcgi: salt_ssh: run_helper: /none does not exist");
  shows("program: /bin/sh, run_helper: /tmp", "salt_ssh: run_helper: /tmp is no file that this user may run");
  CHECK(shown(enabled + "rest_fcgi: {engine: salt, salt_ssh: {program: /bin/sh, run_helper: /bin/sh}}\n")
            .find("warning:") == std::string::npos);
  CHECK(shown(enabled + "rest_fcgi: {engine: salt, salt_ssh: {program: /bin/sh, run_helper: 'unix:/none'}}\n")
            .find("warning:") == std::string::npos);
  CHECK(shown("rest_fcgi: {engine: salt, salt_ssh: {run_helper: /none}}\n").find("run_helper") ==
        std::string::npos);
  CHECK_FALSE(warns(shown("rest_fcgi: {engine: salt}\n")));
}

TEST_CASE("the summary says what is on") {
  const std::string text = shown(
      "netapi_enable_clients: [local, ssh]\n"
      "external_auth: {file: {alice: [], bob%: []}, pam: {x: []}, ldap: {x: []}}\n"
      "include: none.conf\n"
      "rest_fcgi: {listen: 'unix:/run/a', log_file: /var/log/a, log_level: debug, audit_log: /var/log/b,\n"
      "            audit_format: json, embedded: {minions: [a, b]}}\n");
  CHECK(has_line(text, "listen:   unix:/run/a"));
  CHECK(has_line(text, "clients:  local, ssh (not part of this engine)"));
  CHECK(has_line(
      text,
      "eauth:    file (2 users or groups), pam (1 user or group), ldap (off: not part of this version)"));
  CHECK(has_line(text, "minions:  2"));
  CHECK(has_line(text, "log:      debug to /var/log/a"));
  CHECK(has_line(text, "audit:    json to /var/log/b"));
  CHECK(has_line(text, "warning:  master: include: \"none.conf\" matches no file"));
}

TEST_CASE("the summary says in which cluster tokens are") {
  CHECK(
      has_line(shown("eauth_tokens: etcd\netcd.host: [e1, e2]\n"),
               "tokens:   in etcd at http://e1:2379, http://e2:2379, below /salt/tokens, for 43200 seconds"));
}

TEST_CASE("the summary says whether auto is on") {
  CHECK(has_line(shown("external_auth: {auto: {a: []}}\n"),
                 "eauth:    auto (off: needs rest_fcgi: allow_auto_eauth: true)"));
  CHECK(has_line(shown("external_auth: {auto: {a: []}}\nrest_fcgi: {allow_auto_eauth: true}\n"),
                 "eauth:    auto (1 user or group)"));
}

TEST_CASE("the summary notes what is right and may not be meant") {
  const std::string text = shown(
      "external_auth:\n"
      "  auto: {x: [test.ping]}\n"
      "  file: {alice: [test.*, .*], bob: [{'*': ['.*']}], carol: ['@runner', {'web*': ['.*']}, "
      "'cmd\\..*']}\n"
      "  pam: {dave: [{'*': [{'.*': {args: [a]}}]}]}\n"
      "rest_fcgi: {allow_auto_eauth: true, request_timeout: 310}\n");
  CHECK(text.ends_with(
      "audit:    text to the log\n"
      "note:     external_auth: auto: takes every password\n"
      "note:     external_auth: file: alice, bob may run every function on all minions, cmd.run among them\n"
      "note:     rest_fcgi: request_timeout: 310 s; nginx/ and apache/ wait 310 s, and their 504 names no "
      "job\n"));
  CHECK(has_line(
      shown("external_auth:\n  pam: {x: ['@runer']}\n"),
      "note:     master:2: external_auth: pam: x: \"@runer\": no runner or wheel module has this name; "
      "did you mean '@runner'?"));
  CHECK(shown("rest_fcgi: {request_timeout: 309}\nexternal_auth: {auto: {x: [test.ping]}}\n").find("note:") ==
        text.npos);
}

TEST_CASE("the summary says who is served where, and who is not") {
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
  CHECK(has_line(text, "streams:  2000 at once, 500 of one user, who sees events as the rules say"));
  CHECK(has_line(shown("rest_fcgi: {netapi: [rest_tornado], mount: {}, events: everybody, max_streams: 9, "
                       "max_streams_per_user: 3}\nrest_tornado: {port: 1, disable_ssl: true}\n"),
                 "streams:  9 at once, 3 of one user, who sees events of everybody"));
  CHECK(has_line(text, "access:   /l/a\nerrors:   /l/e"));
  CHECK(has_line(text, "note:     rest_tornado: num_processes changes nothing here"));
  CHECK(text.find("unserved") == std::string::npos);
  CHECK(has_line(
      shown("rest_cherrypy: {port: 8000}\nrest_tornado: {port: 8001}\n"),
      "unserved: the sections rest_cherrypy, rest_tornado; rest_fcgi: netapi names the modules whose "
      "sections count"));
  CHECK(has_line(
      shown("rest_fcgi: {netapi: [rest_wsgi]}\nrest_tornado: {port: 8001}\n"),
      "unserved: the section rest_tornado; rest_fcgi: netapi names the modules whose sections count"));
}

TEST_CASE("the summary says for each port which web servers are believed, and what clients have to show") {
  const auto on = [](std::string_view own, std::string_view port) {
    return shown("rest_fcgi: {netapi: [rest_cherrypy]" + std::string(own) +
                 "}\nrest_cherrypy: {port: 8000, " + std::string(port) + "}\n");
  };
  const std::string plain = "disable_ssl: true, host: 127.0.0.1";
  const std::string tls = "host: 127.0.0.1, ssl_crt: /c.pem, ssl_key: /k.pem";
  CHECK(has_line(
      on("", plain),
      "proxies:  rest_cherrypy believes web servers at 127.0.0.0/8, ::1 (auto) about the client: "
      "X-Forwarded-For, else X-Real-IP; nginx sends it with proxy_set_header X-Forwarded-For $remote_addr; "
      "without it all clients behind a web server count as one"));
  CHECK(has_line(
      on("", "disable_ssl: true"),
      "proxies:  rest_cherrypy believes no web server (auto: it is not on loopback): all clients behind a "
      "web server count as one, unless rest_fcgi: trusted_proxies names it"));
  CHECK(on("", tls).find("believes no web server (auto: it has TLS)") != std::string::npos);
  CHECK(on(", trusted_proxies: [10.0.0.1]", tls).find("believes web servers at 10.0.0.1 about") !=
        std::string::npos);
  CHECK(on(", trusted_proxies: []", plain).find("believes no web server: all clients") != std::string::npos);
  CHECK(shown("").find("proxies:") == std::string::npos);
  CHECK(has_line(
      on("", tls + ", ssl_cert_reqs: CERT_REQUIRED, ssl_ca_certs: /ca, ssl_allowed_cn: [a, b]"),
      "serves:   rest_cherrypy at https://127.0.0.1:8000, for clients with a certificate of /ca, CN a or b"));
  CHECK(has_line(
      on("", tls + ", ssl_cert_reqs: CERT_OPTIONAL, ssl_ca_certs: /ca"),
      "serves:   rest_cherrypy at https://127.0.0.1:8000, for clients with or without a certificate of /ca, "
      "any CN"));
}

TEST_CASE("the summary names every level of the log") {
  for (const char* level : {"debug", "info", "warning", "error", "quiet"}) {
    CHECK(has_line(shown(std::string("log_level: ") + level),
                   std::string("log:      ") + level + " to standard error"));
  }
}

TEST_CASE("keys that take effect at start only are found where they differ") {
  const Settings before = settings_of("");
  CHECK(
      restart_keys(before, settings_of("timeout: 9\nrest_fcgi: {max_chunks: 5, embedded: {minions: [a]}}\n"))
          .empty());
  const Settings after = settings_of(
      "master_job_cache: memory\next_job_cache: sqlite3\nkeep_jobs_seconds: 1\n"
      "rest_fcgi: {listen: 'unix:/a', socket_mode: '0600', socket_owner: a, socket_group: b, allow_remote: "
      "true,\n"
      "  min_threads: 2, max_threads: 3, max_waiting: 4, max_request_body_size: 1K, receive_timeout: 1, "
      "send_timeout: 1,\n"
      "  idle_thread_timeout: 1, keep_conn_timeout: 1, shutdown_timeout: 1, jobs_bytes_kept: "
      "1M, etcd_outbox_bytes: 1M,\n"
      "  max_http_connections: 5, max_body_bytes: 1K, trusted_proxies: [127.0.0.1], embedded: "
      "{max_workers: 1, max_queued: "
      "1}}\n");
  CHECK(restart_keys(before, after) == std::vector<std::string>{"master_job_cache",
                                                                "ext_job_cache",
                                                                "keep_jobs_seconds",
                                                                "rest_fcgi: socket_mode",
                                                                "rest_fcgi: socket_owner",
                                                                "rest_fcgi: socket_group",
                                                                "rest_fcgi: allow_remote",
                                                                "rest_fcgi: max_threads",
                                                                "rest_fcgi: min_threads",
                                                                "rest_fcgi: max_waiting",
                                                                "rest_fcgi: receive_timeout",
                                                                "rest_fcgi: send_timeout",
                                                                "rest_fcgi: idle_thread_timeout",
                                                                "rest_fcgi: keep_conn_timeout",
                                                                "rest_fcgi: shutdown_timeout",
                                                                "rest_fcgi: max_request_body_size",
                                                                "rest_fcgi: trusted_proxies",
                                                                "rest_fcgi: max_http_connections",
                                                                "rest_fcgi: max_body_bytes",
                                                                "rest_fcgi: etcd_outbox_bytes",
                                                                "rest_fcgi: jobs_bytes_kept",
                                                                "rest_fcgi: embedded: max_workers",
                                                                "rest_fcgi: embedded: max_queued",
                                                                "rest_fcgi: listen"});
}

}  // namespace
}  // namespace rest_fcgi::config

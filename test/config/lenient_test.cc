// SPDX-License-Identifier: MIT

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "config/sections.h"
#include "config_dir.h"

namespace rest_fcgi::config {
namespace {

const std::string kServed = "rest_fcgi: {netapi: [rest_cherrypy]}\n";

TEST_CASE("an empty value of a key of Salt's counts as an absent key") {
  const Settings defaults = settings_of(kServed);
  for (const char* key : {"timeout", "cachedir", "sharedsecret", "external_auth", "nodegroups", "log_level",
                          "netapi_enable_clients", "master_job_cache", "eauth_tokens", "token_expire"}) {
    CAPTURE(key);
    for (const char* value : {"''", "", "[]", "{}"}) {
      CAPTURE(value);
      const ConfigDir dir(kServed + key + ": " + value + "\n");
      CHECK(dir.error() == "");
      CHECK(restart_keys(*dir.load(), defaults).empty());
      CHECK(error_of(kServed + "rest_cherrypy: {port: " + value + ", webhook_disable_auth: " + value +
                     "}\n") == "");
    }
  }
}

TEST_CASE("a text that means one boolean is accepted for a flag of Salt's") {
  const auto flag = [](const std::string& value) {
    return settings_of(kServed + "rest_cherrypy: {collect_stats: " + value + "}\n")
        .rest_cherrypy.collect_stats;
  };
  for (const char* value : {"'True'", "'true'", "'yes'", "'ON'", "1", "'1'", "!!python/unicode 'True'"})
    CHECK_MESSAGE(flag(value), value);
  for (const char* value : {"'False'", "'no'", "'off'", "0", "'0'", "!!str false"})
    CHECK_MESSAGE(!flag(value), value);
  for (const char* value : {"2", "'maybe'", "1.5", "[true]"}) {
    check_message(error_of(kServed + "rest_cherrypy: {collect_stats: " + value + "}\n"),
                  "master:2: rest_cherrypy: collect_stats: found ");
  }
}

TEST_CASE("a text or a whole real is accepted for a number of Salt's") {
  const auto with = [](const std::string& value) {
    return kServed + "token_expire: " + value + "\ntimeout: " + value + "\nrest_cherrypy: {port: " + value +
           ", disable_ssl: true}\n";
  };
  for (const char* value : {"20", "'20'", "' 20 '", "20.0", "'20.0'"}) {
    CAPTURE(value);
    const Settings settings = settings_of(with(value));
    CHECK(settings.auth.token_expire == std::chrono::seconds(20));
    CHECK(settings.client.timeout == std::chrono::seconds(20));
    CHECK(settings.gateway.http.at(0).port == 20);
  }
  for (const char* value : {"'many'", "true", "[1]", "'1 2'", "'0x10'"})
    CHECK_MESSAGE(error_of(with(value)).find(": found ") != std::string::npos, value);
}

TEST_CASE("empty items of lists are left out, and whole sections may be empty") {
  CHECK(error_of("netapi_enable_clients: [null]\nnodegroups: {a: null, b: [~, web*]}\ninclude: [~, '']\n"
                 "default_include: ''\nexternal_auth: {file: , pam: {alice: [null, test.ping], bob: ''}}\n"
                 "rest_fcgi: {netapi: [rest_cherrypy]}\nrest_cherrypy: {cors_origin: [null]}\n") == "");
  for (const char* text :
       {"rest_fcgi:\n", "external_auth:\n", "external_auth: []\n", "rest_cherrypy:\n", "include:\n",
        "rest_fcgi: {netapi: [rest_cherrypy]}\nrest_cherrypy:\n", "include: {}\n"}) {
    CAPTURE(text);
    CHECK(error_of(text) == "");
  }
}

TEST_CASE("an empty value of an access list never means all") {
  const std::string served = kServed + "rest_cherrypy: ";
  check_message(error_of(served + "{authorized_ips: [null]}\n"),
                "master:2: rest_cherrypy: authorized_ips: found a list");
  const Settings settings = settings_of(served + "{api_acl: {users: {fred: , eve: [~], '*': ['*']}}}\n");
  const auto& users = settings.rest_cherrypy.api_acl->users;
  REQUIRE(users.size() == 3);
  CHECK(users[0].second.empty());
  CHECK(users[1].second.empty());
}

TEST_CASE("an empty value in rest_fcgi is a mistake") {
  for (const char* entry :
       {"netapi: ", "mount: ", "mount: []", "mount: ''", "embedded: []", "login_guard: ''", "salt_ssh: []",
        "embedded: {minions: ''}", "embedded: {module_dirs: }", "embedded: {module_dirs: ''}",
        "embedded: {script_user: ''}", "socket_owner: ''", "socket_group: ''", "engine: ''",
        "events: ", "log_level: ''", "listen: "}) {
    CAPTURE(entry);
    CHECK(error_of(std::string("rest_fcgi: {") + entry + "}\n").find(": found ") != std::string::npos);
  }
  for (const char* value : {"''", "[]", "false", "[{max_threads: 4}]"})
    CHECK(error_of(std::string("rest_fcgi: ") + value + "\n").starts_with("master:1: rest_fcgi: found "));
  for (const char* value : {"", "{}", "{mount: {}}", "{embedded: , login_guard: , salt_ssh: }",
                            "{embedded: {}}", "{embedded: {minions: []}}"})
    CHECK(error_of(std::string("rest_fcgi: ") + value + "\n") == "");
}

TEST_CASE("a misspelled key at the top is a warning") {
  const std::pair<const char*, const char*> keys[] = {{"netapi_enabled_clients", "netapi_enable_clients"},
                                                      {"external_auths", "external_auth"},
                                                      {"token_expires", "token_expire"},
                                                      {"rest_cherypy", "rest_cherrypy"}};
  for (const auto& pair : keys) {
    const auto [key, meant] = std::pair(std::string(pair.first), std::string(pair.second));
    CAPTURE(pair.first);
    CHECK(warning_of("timeout: 5\n" + key + ": {a: b}\n") ==
          "master:2: \"" + key + "\": unknown key, did you mean " + meant + "?");
  }
  for (const char* key :
       {"returner", "ssh_timeout", "auth_timeout", "fips_mode", "master_type", "pillar_opts", "my_key",
        "ssh_user", "conf_dir", "render_dirs", "publish_port", "user"})
    CHECK(settings_of(std::string(key) + ": 5\n").warnings.empty());
}

TEST_CASE("an unknown client, and / as a path of rest_cherrypy, are warnings") {
  const std::string master = "netapi_enable_clients:\n  - local\n  - locl\n";
  CHECK(settings_of(master).client.enabled == std::vector{lowstate::Client::local});
  check_message(warning_of(master), "master:3: netapi_enable_clients: unknown client \"locl\"",
                {"local_async", "ssh"});
  for (const std::string key : {"webhook_url", "static_path", "app_path"})
    check_message(warning_of(kServed + "rest_cherrypy: {" + key + ": /}\n"),
                  "master:2: rest_cherrypy: " + key + ": found \"/\"");
}

TEST_CASE("a key in braces without a space behind its colon, and log_level: off, are named") {
  CHECK(warnings_of("rest_cherrypy: {port:8000, host: 10.0.0.1}\nrest_fcgi: {netapi: [rest_cherrypy]}\n")
            .at(0) ==
        "master:1: rest_cherrypy: \"port:\": found no space behind the colon, expected port: VALUE");
  CHECK(error_of("rest_fcgi: {log_level:debug}\n") ==
        "master:1: rest_fcgi: \"log_level:\": found no space behind the colon, expected log_level: VALUE");
  for (const char* level : {"off", "'off'", "no", "false", "0"}) {
    CAPTURE(level);
    const std::string message = error_of(std::string("log_level: ") + level + "\n");
    check_message(message, "master:1: log_level: found ", {"expected quiet"});
  }
  CHECK(error_of("log_level: on\n").starts_with("master:1: log_level: found on, expected all"));
}

TEST_CASE("IPv6 addresses may be in brackets, and a malformed host is a mistake") {
  const std::string served = "rest_fcgi: {netapi: [rest_cherrypy, rest_tornado]}\n";
  const Settings settings = settings_of(served +
                                        "rest_cherrypy: {port: 1, disable_ssl: true, host: '[::1]'}\n"
                                        "rest_tornado: {port: 2, disable_ssl: true, address: '[::1]'}\n");
  CHECK(settings.gateway.http.at(0).host == "::1");
  CHECK(settings.gateway.http.at(1).host == "::1");
  CHECK(settings_of("rest_fcgi: {engine: salt}\ninterface: '[::1]'\n").salt.interface == "::1");
  CHECK(error_of(served + "rest_cherrypy: {host: 'http://x'}\n")
            .starts_with("master:2: rest_cherrypy: host: found"));
  CHECK(error_of("rest_fcgi: {engine: salt}\ninterface: 'a b'\n")
            .starts_with("master:2: interface: found \"a b\""));
  for (const std::string host :
       {"999.1.1.1", "10.0.0", "1.2.3.4.5", "':::1'", "'10.0.0.1:80'", "'[::g]'", "7."}) {
    CAPTURE(host);
    CHECK(error_of(served + "rest_cherrypy: {host: " + host + "}\n")
              .starts_with("master:2: rest_cherrypy: host: found"));
    CHECK(error_of("rest_fcgi: {engine: salt}\ninterface: " + host + "\n")
              .starts_with("master:2: interface: found"));
  }
  for (const std::string host :
       {"10.0.0.1", "'fe80::1%eth0'", "'::ffff:10.0.0.1'", "1a.example", "a1", "x.4a"}) {
    CAPTURE(host);
    CHECK(error_of(served + "rest_cherrypy: {host: " + host + "}\n").empty());
  }
}

TEST_CASE("the keys of minions are in pki_dir, and with cluster_id in cluster_pki_dir") {
  const auto pki_dir = [](const char* keys) {
    return settings_of(std::string("rest_fcgi: {engine: salt, state_dir: /s}\n") + keys).salt.pki_dir;
  };
  CHECK(pki_dir("") == "/etc/salt/pki/master");
  CHECK(pki_dir("root_dir: /r\npki_dir: k\ncluster_pki_dir: /c\n") == "/r/k");
  CHECK(pki_dir("cluster_id: one\ncluster_pki_dir: /c\n") == "/c");
  CHECK(pki_dir("cluster_id: one\npki_dir: /k\n") == "/k");
}

TEST_CASE("a long sock_dir is replaced by a folder in cachedir, as in Salt") {
  const auto sock_dir = [](const char* keys) {
    return settings_of(std::string("rest_fcgi: {engine: salt}\n") + keys).salt.sock_dir;
  };
  CHECK(sock_dir("cachedir: /srv/salt\n") == "/srv/salt/.salt-unix");
  CHECK(sock_dir("cachedir: /srv/salt1\n") == "/var/run/salt/master");
  CHECK(sock_dir("cachedir: /c\nroot_dir: /a/long/path/that/counts/for/nothing\n") ==
        "/a/long/path/that/counts/for/nothing/c/.salt-unix");
  CHECK(sock_dir("cachedir: /srv/salt\nsock_dir: /run/s\n") == "/run/s");
  CHECK(sock_dir("cachedir: /c\nsock_dir: /run/salt/master\n") == "/c/.salt-unix");
  CHECK(sock_dir("cachedir: ''\nsock_dir: ''\n") == "/var/run/salt/master");
}

TEST_CASE("keys that only a real master uses are one warning with the embedded engine") {
  check_message(warning_of("timeout: 5\nreactor:\n  - 'x': [/a.sls]\nschedule: {a: {function: b}}\npeer:\n"),
                "master:3: reactor, schedule: ", {"engine: salt"});
  CHECK(settings_of("rest_fcgi: {engine: salt}\nreactor: [{x: [/a.sls]}]\n").warnings.empty());
  CHECK(settings_of("presence_events: false\norder_masters: no\nstate_events: False\n").warnings.empty());
  check_message(warning_of("presence_events: true\nclient_acl_blacklist: {users: [a]}\n"), "",
                {"client_acl_blacklist, presence_events: "});
}

}  // namespace
}  // namespace rest_fcgi::config

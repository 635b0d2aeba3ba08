// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../support/environment.h"
#include "config_dir.h"

namespace rest_fcgi::config {
namespace {

Settings salt_settings(const std::string& keys) {
  return settings_of("rest_fcgi: {engine: salt}\n" + keys);
}

std::string salt_mistake(const std::string& keys) {
  return error_of("rest_fcgi: {engine: salt}\n" + keys);
}

TEST_CASE("with engine: salt the defaults are Salt's, and a master on all addresses is reached on loopback") {
  const Settings settings = salt_settings("");
  CHECK(settings.engine == Engine::salt);
  CHECK(settings.salt.interface == "127.0.0.1");
  CHECK(settings.salt.ret_port == 4506);
  CHECK(settings.salt.sock_dir == "/var/run/salt/master");
  CHECK_FALSE(settings.salt.ipc_mode_tcp);
  CHECK(settings.salt.tcp_master_pub_port == 4512);
  CHECK(settings.salt.tcp_master_pull_port == 4513);
  CHECK(settings.salt.token_dir == "/var/cache/salt/master/tokens");
  CHECK(settings.salt.worker_threads == 4);
  CHECK_FALSE(settings.salt.order_masters);
  CHECK(settings.client.syndic_wait == std::chrono::seconds(0));
  CHECK(settings.salt.conf_file.ends_with("/master"));
  CHECK(salt_settings("interface: 0.0.0.0\n").salt.interface == "127.0.0.1");
  CHECK(salt_settings("interface: '::'\n").salt.interface == "::1");
  CHECK(salt_settings("interface: 'fe80::1'\n").salt.interface == "fe80::1");
}

TEST_CASE("the place and the limits of the master are read from its own keys and pools") {
  const Settings settings = salt_settings(
      "interface: 10.0.0.7\nret_port: 14506\nroot_dir: /srv/salt\nsock_dir: /run/m\nipc_mode: tcp\n"
      "tcp_master_pub_port: 14512\ntcp_master_pull_port: 14513\ncachedir: /cache\nworker_threads: "
      "12\next_job_cache: 'redis,mysql'\n"
      "nodegroups: {web: 'L@a,b'}\norder_masters: true\nsyndic_wait: 7\ntransport: zeromq\n");
  CHECK(settings.salt.interface == "10.0.0.7");
  CHECK(settings.salt.ret_port == 14506);
  CHECK(settings.salt.sock_dir == "/srv/salt/run/m");
  CHECK(settings.salt.ipc_mode_tcp);
  CHECK(settings.salt.tcp_master_pub_port == 14512);
  CHECK(settings.salt.tcp_master_pull_port == 14513);
  CHECK(settings.salt.token_dir == "/srv/salt/cache/tokens");
  CHECK(settings.salt.worker_threads == 12);
  CHECK(settings.salt.ext_job_cache == "redis,mysql");
  REQUIRE(settings.salt.nodegroups.size() == 1);
  CHECK(settings.salt.nodegroups[0].name == "web");
  CHECK(settings.client.syndic_wait == std::chrono::seconds(7));
  CHECK(salt_settings("worker_pools: {auth: {worker_count: 2, commands: [_auth]}, rest: {worker_count: 9, "
                      "commands: [ping, '*']}}\n")
            .salt.worker_threads == 9);
  CHECK(salt_settings("worker_pools: {auth: {worker_count: 2, commands: [_auth]}, odd: 1}\n")
            .salt.worker_threads == 4);
  CHECK(salt_mistake("worker_pools: {rest: {worker_count: 0, commands: ['*']}}\n")
            .starts_with("master:2: worker_pools: rest: worker_count: found 0"));
}

TEST_CASE("rest_fcgi: ext_job_cache names etcd, and only with engine: salt") {
  const std::string file =
      "rest_fcgi: {engine: salt, ext_job_cache: etcd}\nroot_dir: /srv/salt\n"
      "master_job_cache: mysql\netcd.host: [one, 'two:4001']\netcd.require_v2: false\n";
  const Settings settings = settings_of(file);
  CHECK(settings.returner.ext_job_cache == std::vector<std::string>{"etcd"});
  CHECK(settings.returner.master_job_cache == "memory");
  CHECK(settings.returner.etcd.writing.endpoints ==
        std::vector<std::string>{"http://one:2379", "http://two:4001"});
  CHECK(settings.salt.ext_job_cache.empty());
  CHECK(salt_settings("etcd.host: 7\n").returner.ext_job_cache.empty());
  CHECK(error_of("rest_fcgi:\n  engine: salt\n  ext_job_cache: redis\n")
            .starts_with("master:3: rest_fcgi: ext_job_cache: found \"redis\""));
  check_message(error_of("rest_fcgi:\n  ext_job_cache: etcd\n"),
                "master:2: rest_fcgi: ext_job_cache: ", {"engine: salt"});
  CHECK(error_of("rest_fcgi: {engine: salt, ext_job_cache: etcd}\netcd.host: 7\n")
            .starts_with("master:2: etcd.host"));
}

TEST_CASE("with engine: salt the store is in STATE_DIRECTORY, else in cachedir") {
  {
    const test::ScopedVariable folder("STATE_DIRECTORY", "/var/lib/rest_fcgi:/var/lib/other");
    const store::Options given = salt_settings("").store;
    CHECK(given.path == "/var/lib/rest_fcgi/state.db");
    CHECK(given.may_be_in_memory);
  }
  const test::ScopedVariable none("STATE_DIRECTORY", "");
  CHECK(salt_settings("root_dir: /srv\n").store.path == "/srv/var/cache/salt/master/rest_fcgi/state.db");
}

TEST_CASE("state_dir is the folder of the store, and a master cluster needs it") {
  const test::ScopedVariable none("STATE_DIRECTORY", "");
  const store::Options chosen = settings_of("rest_fcgi: {engine: salt, state_dir: /srv/state/}\n").store;
  CHECK(chosen.path == "/srv/state/state.db");
  CHECK_FALSE(chosen.may_be_in_memory);
  const auto warns = [](const std::string& text) {
    const std::vector<std::string> warnings = settings_of(text).warnings;
    return std::any_of(warnings.begin(), warnings.end(), [](const std::string& warning) {
      return warning.find("cluster_id") != std::string::npos &&
             warning.find("state_dir") != std::string::npos;
    });
  };
  CHECK(warns("rest_fcgi: {engine: salt}\ncluster_id: one\n"));
  CHECK_FALSE(warns("rest_fcgi: {engine: salt, state_dir: /srv/state}\ncluster_id: one\n"));
  CHECK_FALSE(warns("rest_fcgi: {engine: salt}\n"));
  CHECK(settings_of("rest_fcgi: {state_dir: /srv/state}\n").store.path == "/srv/state/state.db");
}

TEST_CASE("keys that the master alone uses are not read") {
  for (const char* key :
       {"master_job_cache: mysql", "master_job_cache: [mysql]", "keep_jobs: many", "keep_jobs_seconds: -1",
        "sqlite3.database: returns.db", "sqlite3.timeout: no", "token_dir: 5", "token_expire: 0.5",
        "sharedsecret: 5813", "sharedsecret: sdb://a/b", "auth.pam.service: 5", "publisher_acl: 5",
        "publisher_acl_blacklist: {users: [root]}", "pillar_roots: 5", "minions: 7"}) {
    CAPTURE(key);
    CHECK(salt_mistake(std::string(key) + "\n").empty());
    CHECK(salt_settings(std::string(key) + "\n").warnings.empty());
  }
}

TEST_CASE("a mistake in a key about a real master is a mistake with engine: salt only") {
  CHECK(settings_of("transport: tcp\nipc_mode: shm\n").engine == Engine::embedded);
  for (const char* key :
       {"interface: 5", "ret_port: many", "sock_dir: [a]", "root_dir: 5", "ipc_mode: shm", "transport: tcp",
        "tcp_master_pub_port: 0", "tcp_master_pull_port: x", "cachedir: [a]", "worker_threads: 0",
        "ext_job_cache: [redis]", "order_masters: maybe", "syndic_wait: 0", "timeout: soon",
        "gather_job_timeout: soon", "rest_timeout: soon", "log_level: loud"}) {
    CAPTURE(key);
    const std::string text = key;
    CHECK(salt_mistake(text + "\n").starts_with("master:2: " + text.substr(0, text.find(':') + 1)));
  }
}

TEST_CASE("with engine: salt, a wrong nodegroup is a warning and has no words, and the others stay") {
  for (const std::string bad : {"123", "true", "1.5", "{b: c}", "[a, [b]]", "[{a: b}]"}) {
    CAPTURE(bad);
    const std::string master = "rest_fcgi: {engine: salt}\nnodegroups:\n  bad: " + bad + "\n  good: L@a,b\n";
    check_message(warning_of(master), "master:3: nodegroups: bad: found ");
    const auto groups = settings_of(master).salt.nodegroups;
    REQUIRE(groups.size() == 2);
    CHECK(groups[0].words.empty());
    CHECK(groups[1].words == std::vector<std::string>{"L@a,b"});
  }
  for (const std::string bad : {"5", "web", "[web]", "[{a: b}, 7]"}) {
    CAPTURE(bad);
    check_message(warning_of("rest_fcgi: {engine: salt}\nnodegroups: " + bad + "\n"),
                  "master:2: nodegroups: found ");
  }
}

TEST_CASE("nodegroups may be a list of maps") {
  const Settings settings = salt_settings("nodegroups: [{a: web1}, {b: [web2, 7]}]\n");
  CHECK(settings.warnings.empty());
  REQUIRE(settings.salt.nodegroups.size() == 2);
  CHECK(settings.salt.nodegroups[1].name == "b");
  CHECK(settings.salt.nodegroups[1].words == std::vector<std::string>{"web2", "7"});
  CHECK(settings_of("nodegroups: [{a: web1}]\n").embedded.nodegroups.at(0).name == "a");
}

constexpr const char* kLeft = "; only the Salt master evaluates this rule, and rest_fcgi ignores it";

TEST_CASE("an unreadable rule is a warning and permits nothing, and its user stays") {
  const std::string master =
      "rest_fcgi: {engine: salt}\nexternal_auth:\n  pam:\n    fred:\n      - 5\n      - test.*\n"
      "      - 'web*': {test.arg: {args: [7], kwargs: [8]}}\n    eve: [8]\n    '*': ['.*']\n";
  const std::vector<std::string> warnings = warnings_of(master);
  const std::string where = "external_auth: pam: ";
  REQUIRE(warnings.size() == 3);
  check_message(warnings[0], "master:5: " + where + "fred: found 5", {kLeft});
  check_message(warnings[1], "master:7: " + where + "fred: web*: test.arg: args: found 7", {kLeft});
  check_message(warnings[2], "master:8: " + where + "eve: found 8", {kLeft});
  const Settings settings = settings_of(master);
  const auto& principals = settings.auth.external_auth.at(0).principals;
  REQUIRE(principals.size() == 3);
  REQUIRE(principals[0].rules.size() == 1);
  CHECK(principals[0].rules[0].functions.at(0).pattern == "test.*");
  CHECK(principals[1].name == "eve");
  CHECK(principals[1].rules.empty());
  CHECK(principals[2].rules.size() == 1);
}

TEST_CASE("an unreadable back end or external_auth is one warning") {
  const std::string master =
      "rest_fcgi: {engine: salt}\nexternal_auth: {ldap: [fred], pam: {fred: [.*]}, rest: }\n";
  check_message(warning_of(master), "master:2: external_auth: ldap: found a list", {kLeft});
  const Settings settings = settings_of(master);
  REQUIRE(settings.auth.external_auth.size() == 3);
  CHECK(settings.auth.external_auth[0].principals.empty());
  CHECK(settings.auth.external_auth[1].principals.size() == 1);

  check_message(warning_of("rest_fcgi: {engine: salt}\nexternal_auth: [pam]\n"),
                "master:2: external_auth: found a list");
  CHECK(salt_settings("external_auth:\n").warnings.empty());
}

TEST_CASE("with engine: salt, settings of back ends are not read") {
  const Settings settings =
      salt_settings("external_auth: {django: {^model: [a]}, rest: {^url: , fred: [.*]}}\n");
  CHECK(settings.warnings.empty());
  CHECK(settings.auth.external_auth.at(0).settings.empty());
  CHECK(settings.auth.external_auth.at(1).settings.empty());
  CHECK(settings.auth.external_auth.at(1).principals.size() == 1);
}

TEST_CASE("a large master file of a site is accepted") {
  CommandLine command_line;
  command_line.config = std::filesystem::path(__FILE__).parent_path() / "real.master";
  const auto settings = load(command_line);
  if (!settings) FAIL(settings.error().message);
  CHECK(settings->auth.external_auth.size() == 9);
  CHECK(settings->salt.nodegroups.size() == 3);
  CHECK(settings->salt.ext_job_cache == "redis");
  CHECK(settings->client.gather_job_timeout == std::chrono::seconds(20));
  CHECK(settings->warnings.size() == 4);
}

TEST_CASE("the summary of the engine salt says which master it is for") {
  const ConfigDir dir("rest_fcgi: {engine: salt}\nret_port: 5000\nexternal_auth: {ldap: {x: ['.*']}}\n");
  const auto settings = *dir.load();
  const std::string text = summary(settings, dir.command_line(), "this user can connect");
  CHECK(text.find("engine:   salt\n") != std::string::npos);
  CHECK(text.find("eauth:    ldap\n") != std::string::npos);
  CHECK(text.find("master:   127.0.0.1 port 5000, events from /var/run/salt/master/master_event_pub.ipc\n") !=
        std::string::npos);
  CHECK(text.find("events:   this user can connect\n") != std::string::npos);
  CHECK(text.find("minions:") == std::string::npos);
  CHECK(text.find("hooks:") == std::string::npos);
  CHECK(!takes_hooks(settings));
  CHECK(takes_hooks(settings_of("rest_fcgi: {netapi: [rest_cherrypy]}\n")));
  CHECK(summary(settings, dir.command_line(), "", "can be fired by this user")
            .find("hooks:    can be fired by this user\n") != std::string::npos);
}

}  // namespace
}  // namespace rest_fcgi::config

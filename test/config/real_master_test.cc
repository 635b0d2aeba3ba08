// SPDX-License-Identifier: MIT
#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include "config_dir.h"

namespace rest_fcgi::config {
namespace {

Settings salt_settings(const std::string& keys) {
  return settings_of("rest_fcgi: {engine: salt}\n" + keys);
}

std::string salt_mistake(const std::string& keys) {
  return error_of("rest_fcgi: {engine: salt}\n" + keys);
}

TEST_CASE("the engine salt needs no key but its own: the defaults are Salt's") {
  const Settings settings = salt_settings("");
  CHECK(settings.engine == Engine::salt);
  CHECK(settings.salt.interface == "127.0.0.1");
  CHECK(settings.salt.ret_port == 4506);
  CHECK(settings.salt.sock_dir == "/var/run/salt/master");
  CHECK_FALSE(settings.salt.ipc_mode_tcp);
  CHECK(settings.salt.tcp_master_pub_port == 4512);
  CHECK(settings.salt.worker_threads == 4);
  CHECK_FALSE(settings.salt.order_masters);
  CHECK(settings.client.syndic_wait == std::chrono::seconds(0));
  CHECK(settings.salt.conf_file.ends_with("/master"));
}

TEST_CASE("where the master is and how it works is read from its own keys") {
  const Settings settings = salt_settings(
      "interface: 10.0.0.7\nret_port: 14506\nroot_dir: /srv/salt\nsock_dir: /run/m\nipc_mode: tcp\n"
      "tcp_master_pub_port: 14512\nworker_threads: 12\next_job_cache: 'redis,mysql'\n"
      "nodegroups: {web: 'L@a,b'}\norder_masters: true\nsyndic_wait: 7\ntransport: zeromq\n");
  CHECK(settings.salt.interface == "10.0.0.7");
  CHECK(settings.salt.ret_port == 14506);
  CHECK(settings.salt.sock_dir == "/srv/salt/run/m");
  CHECK(settings.salt.ipc_mode_tcp);
  CHECK(settings.salt.tcp_master_pub_port == 14512);
  CHECK(settings.salt.worker_threads == 12);
  CHECK(settings.salt.ext_job_cache == "redis,mysql");
  REQUIRE(settings.salt.nodegroups.size() == 1);
  CHECK(settings.salt.nodegroups[0].name == "web");
  CHECK(settings.client.syndic_wait == std::chrono::seconds(7));
}

TEST_CASE("of worker_pools those workers count that take all commands") {
  CHECK(salt_settings("worker_pools: {auth: {worker_count: 2, commands: [_auth]}, "
                      "rest: {worker_count: 9, commands: [ping, '*']}}\n")
            .salt.worker_threads == 9);
  CHECK(salt_settings("worker_pools: {auth: {worker_count: 2, commands: [_auth]}, odd: 1}\n")
            .salt.worker_threads == 4);
  CHECK(salt_mistake("worker_pools: {rest: {worker_count: 0, commands: ['*']}}\n")
            .starts_with("master:2: worker_pools: rest: worker_count: found 0"));
}

TEST_CASE("a master that listens everywhere is reached on the loopback address") {
  CHECK(salt_settings("interface: 0.0.0.0\n").salt.interface == "127.0.0.1");
  CHECK(salt_settings("interface: '::'\n").salt.interface == "::1");
  CHECK(salt_settings("interface: 'fe80::1'\n").salt.interface == "fe80::1");
}

TEST_CASE("what belongs to the master alone is left to it") {
  const Settings settings = salt_settings(
      "master_job_cache: mysql\npublisher_acl_blacklist: {users: [root]}\nexternal_auth: {ldap: {x: "
      "['.*']}}\n");
  CHECK(settings.warnings.empty());
}

TEST_CASE("a transport that this engine does not speak is a mistake") {
  CHECK(salt_mistake("transport: tcp\n") ==
        "master:2: transport: found \"tcp\", expected zeromq, the only one that this engine speaks");
}

TEST_CASE("values that are none are mistakes with their place") {
  CHECK(salt_mistake("ret_port: 0\n").starts_with("master:2: ret_port: found 0, expected "));
  CHECK(salt_mistake("ipc_mode: shm\n") == "master:2: ipc_mode: found \"shm\", expected ipc or tcp");
  CHECK(salt_mistake("worker_threads: many\n").starts_with("master:2: worker_threads: found \"many\""));
  CHECK(error_of("rest_fcgi: {engine: salt, master_connections: 0}\n").find("master_connections") !=
        std::string::npos);
}

TEST_CASE("the embedded engine does not look at the real master's keys") {
  CHECK(settings_of("transport: tcp\nipc_mode: shm\n").engine == Engine::embedded);
}

TEST_CASE("the summary of the engine salt says which master it is for") {
  const ConfigDir dir("rest_fcgi: {engine: salt}\nret_port: 5000\nexternal_auth: {ldap: {x: ['.*']}}\n");
  const auto settings = dir.load();
  REQUIRE(settings);
  const std::string text = summary(*settings, dir.command_line());
  CHECK(text.find("engine:   salt\n") != std::string::npos);
  CHECK(text.find("eauth:    ldap\n") != std::string::npos);
  CHECK(text.find("master:   127.0.0.1 port 5000, events from /var/run/salt/master/master_event_pub.ipc\n") !=
        std::string::npos);
  CHECK(text.find("minions:") == std::string::npos);
}

}  // namespace
}  // namespace rest_fcgi::config

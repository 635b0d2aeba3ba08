// SPDX-License-Identifier: MIT
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../support/loopback_http.h"
#include "../support/temp_dir.h"
#include "gateway/listening_socket.h"
#include "rest_fcgi/core/socket_holder.h"
#include "rest_fcgi/gateway/gateway.h"

namespace rest_fcgi::gateway {
namespace {

HttpOptions port_at(const std::string& name, const std::string& host, std::uint16_t port) {
  HttpOptions options;
  options.name = name;
  options.host = host;
  options.port = port;
  return options;
}

Options with(std::vector<HttpOptions> ports, const std::string& listen = "fd:0") {
  Options options;
  options.listen = listen;
  options.http = std::move(ports);
  return options;
}

std::string mistake_in(const Options& options) {
  const auto checked = check_start(options);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().kind == ErrorKind::configuration);
  return checked.error().message;
}

TEST_CASE("check_start refuses two listeners at one address, also if one of them is at all addresses") {
  const std::uint16_t port = test::unused_port();
  const std::string number = std::to_string(port);
  for (const char* other : {"127.0.0.1", "0.0.0.0", "::"}) {
    const std::string text =
        mistake_in(with({port_at("rest_cherrypy", "127.0.0.1", port), port_at("metrics", other, port)}));
    CHECK(text.starts_with("metrics: "));
    CHECK(text.find("rest_cherrypy") != text.npos);
  }
  CHECK(mistake_in(with({port_at("rest_cherrypy", "0.0.0.0", port)}, "tcp:127.0.0.1:" + number))
            .starts_with("rest_fcgi: listen: "));
  CHECK(check_start(with({port_at("a", "127.0.0.1", port), port_at("b", "127.0.0.2", port)})));
}

TEST_CASE("check_start refuses an address that is not of this host, and an unknown host") {
  const std::uint16_t port = test::unused_port();
  CHECK(mistake_in(with({port_at("rest_tornado", "192.0.2.1", port)})).find("192.0.2.1") !=
        std::string::npos);
  CHECK(mistake_in(with({port_at("rest_tornado", "no.such.invalid", port)}))
            .starts_with("rest_tornado: port: "));
}

TEST_CASE("check_start refuses a unix socket whose folder is missing or refuses new files") {
  const test::TempDir dir;
  CHECK(mistake_in(with({}, "unix:" + dir / "no/s")).find(dir / "no") != std::string::npos);
  HttpOptions metrics;
  metrics.name = "metrics";
  metrics.unix_path = dir / "no/m";
  CHECK(mistake_in(with({metrics})).starts_with("metrics: listen: unix:"));
  if (::geteuid() == 0) return;
  ::chmod(dir.path().c_str(), 0500);
  CHECK(mistake_in(with({}, "unix:" + dir / "s")).find("permissions w and x") != std::string::npos);
}

TEST_CASE("check_start refuses a service that has nothing to listen on") {
  CHECK(mistake_in(with({}, "")).find("rest_fcgi: netapi") != std::string::npos);
  CHECK(check_start(with({port_at("rest_cherrypy", "127.0.0.1", test::unused_port())}, "")));
}

TEST_CASE("taken_addresses names the process that has a port, and says nothing about a free port") {
  const std::uint16_t port = test::unused_port();
  const Options options = with({port_at("rest_cherrypy", "127.0.0.1", port)});
  CHECK(taken_addresses(options).empty());
  const auto address = find_address("127.0.0.1", port);
  const auto listener = listen_on(**address);
  REQUIRE(listener);
  CHECK(check_start(options));
  const auto holder = find_port_holder(*(*address)->ai_addr);
  REQUIRE(holder);
  CHECK(holder->pid == ::getpid());
  CHECK(holder->user == ::geteuid());
  const auto lines = taken_addresses(options);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].message.starts_with("rest_cherrypy: port: 127.0.0.1 port " + std::to_string(port)));
  CHECK(lines[0].message.find(std::to_string(::getpid())) != std::string::npos);
  CHECK(lines[0].message.find(holder->name) != std::string::npos);
  const auto other = listen_on(**address);
  REQUIRE_FALSE(other);
  CHECK(other.error().message.find(std::to_string(::getpid())) != std::string::npos);
}

}  // namespace
}  // namespace rest_fcgi::gateway

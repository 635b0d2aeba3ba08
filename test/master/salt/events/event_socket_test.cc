// SPDX-License-Identifier: MIT
#include "master/salt/events/event_socket.h"

#include <sys/eventfd.h>
#include <sys/stat.h>

#include <string>

#include <doctest/doctest.h>

#include "../../../support/fake_event_bus.h"
#include "../../../support/temp_dir.h"
#include "rest_fcgi/core/access.h"

namespace {

using namespace rest_fcgi;
using namespace rest_fcgi::salt;
using rest_fcgi::test::FakeEventBus;
using rest_fcgi::test::TempDir;

Error refusal(const BusOptions& where) {
  const UniqueFd stop(::eventfd(0, EFD_CLOEXEC));
  const auto socket = EventSocket::connect(where, stop.get());
  REQUIRE_FALSE(socket);
  return socket.error();
}

TEST_CASE("a missing socket means that the master does not run") {
  const TempDir dir;
  const Error missing = refusal({.path = dir / "bus.ipc"});
  CHECK(missing.kind == ErrorKind::unavailable);
  CHECK(missing.message ==
        dir / "bus.ipc" +
            ": No such file or directory; is the Salt master running, with this sock_dir and "
            "ipc_mode?");
  dir.write("left", "");
  const Error left = refusal({.path = dir / "left"});
  CHECK(left.kind == ErrorKind::unavailable);
  CHECK(left.message.find("Connection refused; is the Salt master running") != std::string::npos);
}

TEST_CASE("a refused TCP connection means that the master does not run") {
  FakeEventBus bus("");
  bus.stop();
  const Error error = refusal({.port = bus.port()});
  CHECK(error.kind == ErrorKind::unavailable);
  CHECK(error.message.starts_with("tcp_master_pub_port " + std::to_string(bus.port()) +
                                  " of 127.0.0.1: Connection refused"));
}

TEST_CASE("a path that is too long is a configuration error") {
  const Error error = refusal({.path = "/" + std::string(107, 'x')});
  CHECK(error.kind == ErrorKind::configuration);
  CHECK(error.message ==
        "sock_dir: /" + std::string(107, 'x') + " has 108 bytes; the path of a unix socket has at most 107");
  CHECK(refusal({.path = "/" + std::string(106, 'x')}).kind == ErrorKind::unavailable);
}

TEST_CASE("a malformed address is a configuration error") {
  const Error name = refusal({.host = "localhost"});
  CHECK(name.kind == ErrorKind::configuration);
  CHECK(name.message ==
        "tcp_master_pub_port 4512 of localhost: expected an IPv4 or IPv6 address, not a host name");
  for (const unsigned port : {0u, 65536u}) {
    const Error error = refusal({.port = port});
    CHECK(error.kind == ErrorKind::configuration);
    CHECK(error.message ==
          "tcp_master_pub_port " + std::to_string(port) + " of 127.0.0.1: expected a port from 1 to 65535");
  }
}

struct stat status_of(mode_t mode, uid_t owner, gid_t group) {
  struct stat status {};
  status.st_mode = mode;
  status.st_uid = owner;
  status.st_gid = group;
  return status;
}

TEST_CASE("the error for a socket closed to its group explains when a master opens it") {
  CHECK(refused_socket("/s/bus.ipc", status_of(S_IFSOCK | 0600, 0, 0)) ==
        "no permission to connect to /s/bus.ipc, which has mode 0600, owner root, group root: a Salt master "
        "opens it "
        "to its group only if its configuration has external_auth or publisher_acl");
}

TEST_CASE("the error names the first folder without search permission") {
  const TempDir dir;
  const std::string file = dir.write("bus.ipc", "");
  CHECK(refused_path(file).starts_with("no permission to connect to " + file + ", "));
  CHECK(refused_path(dir / "no/such/bus.ipc")
            .starts_with("no permission to search the folder " + dir.path().string() +
                         ", which has mode 0700"));
}

}  // namespace

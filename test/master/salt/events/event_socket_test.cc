// SPDX-License-Identifier: MIT
#include "master/salt/events/event_socket.h"

#include <sys/eventfd.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include "../../../support/fake_event_bus.h"
#include "../../../support/holds.h"
#include "../../../support/temp_dir.h"
#include "rest_fcgi/core/access.h"

namespace {

using namespace rest_fcgi;
using namespace rest_fcgi::salt;
using namespace rest_fcgi::test;

Error refusal(const BusOptions& where) {
  const UniqueFd stop(::eventfd(0, EFD_CLOEXEC));
  const auto socket = EventSocket::connect(where, stop.get());
  REQUIRE_FALSE(socket);
  return socket.error();
}

TEST_CASE("a missing socket and a refused connection mean that the master does not run") {
  const TempDir dir;
  const Error missing = refusal({.path = dir / "bus.ipc"});
  CHECK(missing.kind == ErrorKind::unavailable);
  CHECK(missing.message.starts_with(dir / "bus.ipc" + ": No such file or directory; no Salt master runs"));
  dir.write("left", "");
  const Error left = refusal({.path = dir / "left"});
  CHECK(left.kind == ErrorKind::unavailable);
  CHECK(holds(left.message, "Connection refused; no Salt master runs"));
  FakeEventBus bus("");
  bus.stop();
  const Error error = refusal({.port = bus.port()});
  CHECK(error.kind == ErrorKind::unavailable);
  CHECK(error.message.starts_with("tcp_master_pub_port " + std::to_string(bus.port()) +
                                  " of 127.0.0.1: Connection refused"));
}

TEST_CASE("a long path and a malformed address are configuration errors") {
  const struct {
    BusOptions where;
    std::string message;
  } rows[] = {
      {{.path = "/" + std::string(107, 'x')}, " has 108 bytes; the path of a unix socket has at most 107"},
      {{.host = "localhost"}, "4512 of localhost: expected an IPv4 or IPv6 address, not a host name"},
      {{.port = 0}, "tcp_master_pub_port 0 of 127.0.0.1: expected a port from 1 to 65535"},
      {{.port = 65536}, "tcp_master_pub_port 65536 of 127.0.0.1: expected a port from 1 to 65535"}};
  for (const auto& row : rows) {
    const Error error = refusal(row.where);
    CHECK(error.kind == ErrorKind::configuration);
    CHECK_MESSAGE(holds(error.message, row.message), error.message);
  }
  CHECK(refusal({.path = "/" + std::string(106, 'x')}).kind == ErrorKind::unavailable);
}

TEST_CASE("the error for missing permission names the mode of the socket or of the first closed folder") {
  struct stat status {};
  status.st_mode = S_IFSOCK | 0600;
  CHECK(refused_socket("/s/bus.ipc", status) ==
        "no permission to connect to /s/bus.ipc, which has mode 0600, owner root, group root: a Salt master "
        "opens it to its group only if its configuration has external_auth or publisher_acl");
  const TempDir dir;
  const std::string file = dir.write("bus.ipc", "");
  CHECK(refused_path(file).starts_with("no permission to connect to " + file + ", "));
  CHECK(refused_path(dir / "no/such/bus.ipc")
            .starts_with("no permission to search the folder " + dir.path().string() +
                         ", which has mode 0700"));
}

SteadyTime soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(20);
}

std::string framed(std::string_view tag, std::string_view data) {
  return rest_fcgi::test::event_frame(tag, data, Framing::with_length);
}

struct Pull {
  TempDir dir;
  FakeEventPull master{dir / "master_event_pull.ipc"};
  EventPusher pusher{BusOptions{.path = dir / "master_event_pull.ipc"}};
};

TEST_CASE_FIXTURE(Pull, "fired events are framed as by Salt") {
  REQUIRE(pusher.fire("salt/netapi/hook/a", "\x81\xA1x\x01", soon()));
  REQUIRE(pusher.fire("b", "\x80", soon()));
  CHECK(master.received() == framed("salt/netapi/hook/a", "\x81\xA1x\x01") + framed("b", "\x80"));
  CHECK(master.connections() == 1);
}

TEST_CASE_FIXTURE(Pull, "a closed connection is opened again, and firing fails without a master") {
  REQUIRE(pusher.fire("a", "\x80", soon()));
  CHECK(master.received() == framed("a", "\x80"));
  master.close_all();
  REQUIRE(pusher.fire("b", "\x80", soon()));
  CHECK(master.received() == framed("b", "\x80"));
  master.stop();
  const auto gone = pusher.fire("b", "\x80", soon());
  REQUIRE_FALSE(gone);
  CHECK(gone.error().kind == ErrorKind::unavailable);
  CHECK(gone.error().message.starts_with("Events cannot be fired on the Salt Master's bus: "));
  CHECK(holds(gone.error().message, "no Salt master runs"));
  master.start();
  REQUIRE(pusher.fire("c", "\x80", soon()));
  CHECK(master.received() == framed("c", "\x80"));
}

TEST_CASE("the error for missing permission names the socket and the master's user" *
          doctest::skip(::geteuid() != 0)) {
  Pull pull;
  REQUIRE(::chmod(pull.dir.path().c_str(), 0755) == 0);
  REQUIRE(::chmod((pull.dir / "master_event_pull.ipc").c_str(), 0600) == 0);
  ::setfsuid(65534);
  const auto refused = pull.pusher.fire("a", "\x80", soon());
  ::setfsuid(0);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::authorization);
  CHECK(holds(refused.error().message, "master_event_pull.ipc, which has mode 0600"));
  CHECK(refused.error().message.ends_with("run as the user root"));
}

TEST_CASE_FIXTURE(Pull, "firing stops at the deadline and leaves no partial event") {
  const std::string large(1 << 20, 'x');
  const auto begun = std::chrono::steady_clock::now();
  const auto late = pusher.fire("a", large, begun + std::chrono::milliseconds(100));
  REQUIRE_FALSE(late);
  CHECK(late.error().kind == ErrorKind::timeout);
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(5));
  REQUIRE(pusher.fire("b", "\x80", soon()));
  CHECK(master.connections() == 2);
  CHECK(master.received().ends_with(framed("b", "\x80")));
}

TEST_CASE_FIXTURE(Pull, "an event goes to the master at the current socket") {
  REQUIRE(pusher.fire("a", "\x80", soon()));
  // The first socket still listens, but its path leads to the new socket.
  test::FakeEventPull next{dir / "master_event_pull.ipc"};
  REQUIRE(pusher.fire("b", "\x80", soon()));
  CHECK(holds(next.received(), "b\n\n"));
  CHECK_FALSE(holds(master.received(), "b\n\n"));
}

}  // namespace

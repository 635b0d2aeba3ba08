// SPDX-License-Identifier: MIT
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include "../../../support/fake_event_bus.h"
#include "../../../support/fake_event_pull.h"
#include "../../../support/temp_dir.h"
#include "master/salt/events/event_socket.h"

namespace {

using namespace rest_fcgi;
using namespace rest_fcgi::salt;
using rest_fcgi::test::FakeEventPull;
using rest_fcgi::test::TempDir;

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

TEST_CASE("fired events are framed as by Salt") {
  Pull pull;
  REQUIRE(pull.pusher.fire("salt/netapi/hook/a",
                           "\x81\xA1"
                           "a\x01",
                           soon()));
  REQUIRE(pull.pusher.fire("b", "\x80", soon()));
  CHECK(pull.master.received() == framed("salt/netapi/hook/a",
                                         "\x81\xA1"
                                         "a\x01") +
                                      framed("b", "\x80"));
  CHECK(pull.master.connections() == 1);
}

TEST_CASE("a closed connection is opened again without losing an event") {
  Pull pull;
  REQUIRE(pull.pusher.fire("a", "\x80", soon()));
  CHECK(pull.master.received() == framed("a", "\x80"));
  pull.master.close_all();
  REQUIRE(pull.pusher.fire("b", "\x80", soon()));
  CHECK(pull.master.received() == framed("b", "\x80"));
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
  CHECK(refused.error().message.find("master_event_pull.ipc, which has mode 0600") != std::string::npos);
  CHECK(refused.error().message.ends_with("run as the user root"));
}

TEST_CASE("firing fails without a master and works when it is back") {
  Pull pull;
  REQUIRE(pull.pusher.fire("a", "\x80", soon()));
  pull.master.stop();
  const auto gone = pull.pusher.fire("b", "\x80", soon());
  REQUIRE_FALSE(gone);
  CHECK(gone.error().kind == ErrorKind::unavailable);
  CHECK(gone.error().message.starts_with("Events cannot be fired on the Salt Master's bus: "));
  CHECK(gone.error().message.find("is the Salt master running") != std::string::npos);
  pull.master.start();
  REQUIRE(pull.pusher.fire("c", "\x80", soon()));
  CHECK(pull.master.received() == framed("c", "\x80"));
}

TEST_CASE("firing stops at the deadline and leaves no partial event") {
  Pull pull;
  const std::string large(1 << 20, 'x');
  const auto begun = std::chrono::steady_clock::now();
  const auto late = pull.pusher.fire("a", large, begun + std::chrono::milliseconds(100));
  REQUIRE_FALSE(late);
  CHECK(late.error().kind == ErrorKind::timeout);
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(5));
  REQUIRE(pull.pusher.fire("b", "\x80", soon()));
  CHECK(pull.master.connections() == 2);
  CHECK(pull.master.received().ends_with(framed("b", "\x80")));
}

TEST_CASE("an event goes to the master at the current socket") {
  Pull pull;
  REQUIRE(pull.pusher.fire("a", "\x80", soon()));
  // The first socket still listens, but its path now leads to the new socket.
  test::FakeEventPull next{pull.dir / "master_event_pull.ipc"};
  REQUIRE(pull.pusher.fire("b", "\x80", soon()));
  CHECK(next.received().find("b\n\n") != std::string::npos);
  CHECK(pull.master.received().find("b\n\n") == std::string::npos);
}

}  // namespace

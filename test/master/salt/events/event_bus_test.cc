// SPDX-License-Identifier: MIT
#include "master/salt/events/event_bus.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/captured_log.h"
#include "../../../support/eventually.h"
#include "../../../support/fake_event_bus.h"
#include "../../../support/temp_dir.h"
#include "listeners.h"
#include "master/salt/release_series.h"

namespace {

using namespace rest_fcgi;
using namespace rest_fcgi::salt;
using namespace rest_fcgi::test;

using Heard = std::vector<std::string>;
using SteadyClock = std::chrono::steady_clock;

std::unique_ptr<EventBus> started(
    BusOptions options,
    std::shared_ptr<master::EventLog> log = std::make_shared<master::EventLog>(system_clock())) {
  auto bus = EventBus::start(std::move(options), std::move(log));
  REQUIRE(bus);
  return *std::move(bus);
}

EventBus::Expectation expect_soon(EventBus& bus) {
  std::optional<EventBus::Expectation> made;
  REQUIRE(eventually([&] {
    if (made) return true;
    auto expectation = bus.expect();
    if (expectation) made.emplace(std::move(*expectation));
    return made.has_value();
  }));
  return std::move(*made);
}

std::string ret(const std::string& jid) {
  return "salt/job/" + jid + "/ret/m";
}

struct Joined {
  explicit Joined(Framing framing = Framing::bare, BusOptions options = {})
      : master(dir / "bus.ipc", framing), bus(started(with_path(std::move(options)), log)) {}

  BusOptions with_path(BusOptions options) const {
    options.path = dir / "bus.ipc";
    options.rejoin_pause = std::chrono::milliseconds(2);
    return options;
  }

  std::shared_ptr<Recorder> listen(const std::string& jid) {
    auto listener = std::make_shared<Recorder>();
    CHECK(expect_soon(*bus).listen(jid, listener));
    return listener;
  }

  TempDir dir;
  FakeEventBus master;
  std::shared_ptr<master::EventLog> log = std::make_shared<master::EventLog>(system_clock());
  std::unique_ptr<EventBus> bus;
};

struct Stream {
  explicit Stream(master::EventLog& log) : reader(*log.reader({auth::EventScope::all, {}})) {}

  std::string tags(std::size_t count) {
    REQUIRE(eventually([&] {
      const auto read = reader->read(events, 1 << 20, nullptr);
      if (!read) end = read.error().message;
      return events.size() >= count || !end.empty();
    }));
    std::string all;
    for (const auto& event : events) all += event->tag() + " ";
    return all;
  }

  std::unique_ptr<master::EventReader> reader;
  std::vector<master::EventPtr> events;
  std::string end;
};

TEST_CASE("in both framings listeners get the returns of their jobs, and streams get all events") {
  for (const Framing framing : {Framing::bare, Framing::with_length}) {
    Joined joined(framing);
    const auto listener = joined.listen("1");
    Stream stream(*joined.log);
    joined.master.send("salt/auth", "\x80");
    joined.master.send(ret("2"), "\x80");
    joined.master.send(ret("1"), "\x80");
    joined.master.send("salt/run/1/ret", std::string(3 << 20, 'c'));
    CHECK(listener->received(2) == Heard{"m=\x80", "=" + std::string(3 << 20, 'c')});
    CHECK(stream.tags(4) == "salt/auth salt/job/2/ret/m salt/job/1/ret/m salt/run/1/ret ");
  }
}

TEST_CASE("a replaced socket is joined again") {
  Joined joined;
  const auto waiting = joined.listen("1");
  Stream stream(*joined.log);
  const CapturedLog log;
  // The first socket keeps its connections, but its path leads to the new socket.
  FakeEventBus next(joined.dir / "bus.ipc");
  SUBCASE("when the next job is published") {
    const auto expectation = joined.bus->expect("2");
    CHECK(expectation);
  }
  SUBCASE("by the periodic check") {}
  REQUIRE(eventually([&] { return log.has("event bus again"); }));
  CHECK(waiting->received(1) == Heard{kBusLost});
  CHECK(stream.tags(1).empty());
  CHECK_FALSE(stream.end.empty());
  CHECK(log.has("a process of an earlier Salt master"));
  const auto listener = joined.listen("3");
  next.send(ret("3"), "a");
  CHECK(listener->received(1) == Heard{"m=a"});
}

TEST_CASE("event streams end when the bus is lost") {
  const char* const lost = "The Salt master's event bus was lost: events may have been missed.";
  const CapturedLog log;
  Joined joined;
  joined.listen("1");
  Stream first(*joined.log);
  joined.master.send("a", "\x80");
  CHECK(first.tags(1) == "a ");
  joined.master.close_all();
  first.tags(2);
  CHECK(first.end == lost);
  joined.listen("2");
  Stream second(*joined.log);
  joined.master.send_bytes("\xC1");
  second.tags(1);
  CHECK(second.end == lost);
  joined.listen("3");
  Stream third(*joined.log);
  joined.bus.reset();
  third.tags(1);
  CHECK(third.end == lost);
}

TEST_CASE("a loss is reported and the bus is joined again") {
  const CapturedLog log;
  Joined joined;
  auto expectation = expect_soon(*joined.bus);
  const auto listener = joined.listen("1");
  joined.master.stop();
  CHECK(listener->received(1) == Heard{kBusLost});
  const auto refused = joined.bus->wait_until_joined(SteadyClock::now());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::unavailable);
  CHECK(refused.error().message == kMasterNotAvailable);

  joined.master.start();
  joined.listen("probe");
  joined.master.send(ret("1"), "a");
  CHECK(listener->received(2) == Heard{kBusLost, "m=a"});
  const auto late = std::make_shared<Recorder>();
  CHECK(expectation.listen("2", late));
  CHECK(late->received(1) == Heard{kBusLost});
  CHECK(log.has("lost the connection to the Salt master's event bus: the master closed the connection;"));
  CHECK(log.has("connected to the Salt master's event bus again"));
}

TEST_CASE("after a loss the other framing is recognized") {
  Joined joined(Framing::with_length);
  const auto listener = joined.listen("1");
  joined.master.send(ret("1"), "a");
  CHECK(listener->received(1) == Heard{"m=a"});
  joined.master.close_all();
  CHECK(listener->received(2).back() == kBusLost);
  joined.listen("probe");
  joined.master.send_bytes(event_frame(ret("1"), "b", Framing::bare));
  CHECK(listener->received(3).back() == "m=b");
}

TEST_CASE("the bus is joined when the master starts later") {
  const CapturedLog log;
  const TempDir dir;
  const auto bus = started({.path = dir / "bus.ipc", .rejoin_pause = std::chrono::milliseconds(2)});
  const std::string refused =
      "cannot connect to the Salt master's event bus: " + dir / "bus.ipc" + ": No such file or directory";
  REQUIRE(eventually([&] { return log.has(refused); }));
  const FakeEventBus master(dir / "bus.ipc");
  expect_soon(*bus);
  const std::string text = log.text();
  CHECK(text.find("cannot connect", text.find(refused) + refused.size()) == std::string::npos);
}

}  // namespace

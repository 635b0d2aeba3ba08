// SPDX-License-Identifier: MIT
#include "master/salt/events/bus_log.h"

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/vector_file.h"
#include "event_texts.h"

using namespace rest_fcgi;
using salt::BusLog;
using salt::FrameReader;
using test::HeardBus;
using test::packed;

TEST_CASE("an event has Salt's JSON form with id and tag") {
  HeardBus bus;
  bus.fire("salt/auth", R"({"act": "accept", "id": "ms-0", "_stamp": "2026-11-20T23:36:51.624455"})");
  const auto events = bus.received();
  REQUIRE(events.size() == 1);
  CHECK(
      events[0]->json() ==
      R"({"data": {"act": "accept", "id": "ms-0", "_stamp": "2026-11-20T23:36:51.624455"}, "tag": "salt/auth"})");
  CHECK(events[0]->user().empty());
}

TEST_CASE("all events of real masters are logged in order") {
  for (const char* file : {"24-stream-3006.28.bin", "25-stream-3008.3.bin"}) {
    CAPTURE(file);
    HeardBus bus;
    FrameReader frames(64 << 20);
    frames.feed(test::vector_file(file));
    std::string tags;
    while (true) {
      const auto event = frames.next();
      REQUIRE(event);
      if (!*event) break;
      tags += std::string((*event)->tag) + " ";
      bus.bus().on_event(**event);
    }
    CHECK(!tags.empty());
    CHECK(bus.tags() == tags);
  }
}

TEST_CASE("an event that is not valid JSON is logged with an error") {
  HeardBus bus;
  bus.fire_bytes("a", "\xC1");
  bus.fire_bytes("b", packed("[1]"));
  bus.fire_bytes("c", std::string("\x81\xA1x\xC7\x00\x4F", 6));  // the data is an unknown msgpack extension
  bus.fire("d", "{}");
  const auto events = bus.received();
  REQUIRE(events.size() == 4);
  CHECK(events[0]->data().starts_with(R"({"error": "Malformed msgpack: )"));
  CHECK(events[1]->data() == R"({"error": "The data of this event are no map."})");
  CHECK(events[2]->data().starts_with(R"({"error": "Malformed msgpack: )"));
  CHECK(events[3]->data() == "{}");
}

TEST_CASE("an event that is nested too deeply is logged with an error") {
  HeardBus bus;
  const auto nested = [](std::size_t levels) {
    return "\x81\xA1x" + std::string(levels - 1, '\x91') + "\xC0";
  };
  bus.fire_bytes("a", nested(master::kMaxEventDepth));
  bus.fire_bytes("b", nested(master::kMaxEventDepth + 1));
  const auto events = bus.received();
  REQUIRE(events.size() == 2);
  CHECK(events[0]->data().starts_with(R"({"x": [[[)"));
  CHECK(events[1]->data().starts_with(R"({"error": "Malformed msgpack: nested deeper than 400 levels: )"));
}

TEST_CASE("bytes and dates are converted to JSON") {
  HeardBus bus;
  bus.fire_bytes("a",
                 "\x82\xA1x\xC4\x02\xFF\xFE\xA1y\xC7\x18\x4E"
                 "20261120T12:00:00.000000");
  const auto events = bus.received();
  REQUIRE(events.size() == 1);
  CHECK(events[0]->data() == R"({"x": "//4=", "y": "2026-11-20T12:00:00.000000"})");
}

TEST_CASE("without listeners only owners are recorded") {
  const auto log = std::make_shared<master::EventLog>(system_clock());
  BusLog bus(log);
  bus.on_event({"salt/job/1/new", packed(R"({"user": "fred"})")});
  bus.on_event({"other", "\xC1"});
  const auto reader = log->reader({auth::EventScope::own, "fred"});
  REQUIRE(reader);
  bus.on_event({"salt/job/1/ret/m", packed(R"({"cmd": "_return", "user": "fred", "return": 1})")});
  std::vector<master::EventPtr> events;
  REQUIRE((*reader)->read(events, 1 << 20, nullptr));
  REQUIRE(events.size() == 1);
  CHECK(events[0]->block_with_id()[1].ends_with("-1\n\n"));
  CHECK(events[0]->user() == "fred");
}

TEST_CASE("a loss of the bus is reported after earlier events") {
  HeardBus bus;
  bus.fire("a", "{}");
  bus.bus().on_loss();
  std::vector<master::EventPtr> events;
  const auto read = bus.reader().read(events, 1 << 20, nullptr);
  REQUIRE(!read);
  CHECK(read.error().kind == ErrorKind::unavailable);
  CHECK(read.error().message == "The Salt master's event bus was lost: events may have been missed.");
  CHECK(events.size() == 1);
}

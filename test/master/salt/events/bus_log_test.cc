// SPDX-License-Identifier: MIT
#include "master/salt/events/bus_log.h"

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "event_texts.h"

using namespace rest_fcgi;
using salt::BusLog;
using test::HeardBus;
using test::packed;

TEST_CASE("an event that is not valid JSON, or is nested too deeply, is logged with an error") {
  const auto nested = [](std::size_t levels) {
    return "\x81\xA1x" + std::string(levels - 1, '\x91') + "\xC0";
  };
  HeardBus bus;
  bus.fire_bytes("a", "\xC1");
  bus.fire_bytes("b", packed("[1]"));
  bus.fire_bytes("c", std::string("\x81\xA1x\xC7\x00\x4F", 6));  // the data is an unknown msgpack extension
  bus.fire("d", "{}");
  bus.fire_bytes("e", nested(master::kMaxEventDepth));
  bus.fire_bytes("f", nested(master::kMaxEventDepth + 1));
  const auto events = bus.received();
  REQUIRE(events.size() == 6);
  CHECK(events[0]->data().starts_with(R"({"error": "Malformed msgpack: )"));
  CHECK(events[1]->data() == R"({"error": "The data of this event is not a map."})");
  CHECK(events[2]->data().starts_with(R"({"error": "Malformed msgpack: )"));
  CHECK(events[3]->data() == "{}");
  CHECK(events[4]->data().starts_with(R"({"x": [[[)"));
  CHECK(events[5]->data().starts_with(R"({"error": "Malformed msgpack: nested deeper than 400 levels: )"));
}

TEST_CASE("a listener gets the events of own jobs only, also of jobs that began before it listened") {
  const auto log = std::make_shared<master::EventLog>(system_clock());
  BusLog bus(log);
  bus.on_event({"salt/job/1/new", packed(R"({"user": "fred"})")});
  bus.on_event({"other", "\xC1"});
  const auto reader = log->reader({auth::EventScope::own, "fred"});
  REQUIRE(reader);
  bus.on_event({"salt/job/1/ret/m", packed(R"({"cmd": "_return", "user": "fred", "return": 1})")});
  bus.on_event({"salt/job/2/new", packed(R"({"user": "eve"})")});
  bus.on_event({"my/tag", packed(R"({"user": "fred"})")});
  std::vector<master::EventPtr> events;
  REQUIRE((*reader)->read(events, 1 << 20, nullptr));
  REQUIRE(events.size() == 1);
  CHECK(events[0]->block_with_id()[1].ends_with("-1\n\n"));
  CHECK(events[0]->user() == "fred");
}

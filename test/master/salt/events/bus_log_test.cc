// SPDX-License-Identifier: MIT
#include "master/salt/events/bus_log.h"

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "listeners.h"
#include "rest_fcgi/core/format.h"

using namespace rest_fcgi;
using salt::BusLog;
using salt::JobOwners;
using test::HeardBus;
using test::packed;

TEST_CASE("an event that is not valid JSON, or is nested too deeply, is logged with an error") {
  const auto nested = [](std::size_t levels) {
    return "\x81\xA1x" + std::string(levels - 1, '\x91') + "\xC0";
  };
  HeardBus bus;
  bus.fire_bytes("a", "\xC1");
  bus.fire_bytes("b", packed("[1]"));
  bus.fire_bytes("c", std::string("\x81\xA1x\xC7\x00\x4F", 6));  // The data is an unknown msgpack extension.
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

namespace {

constexpr const char* kJid = "20261120233651543848";

struct Bus {
  std::string on_event(const std::string& tag, std::string_view json) {
    const std::string data = packed(json);
    owners.note({tag, data});
    return owners.owner_of({tag, data});
  }
  std::string begin(std::string_view user, const std::string& of = "job", const std::string& jid = kJid) {
    return on_event(format("salt/{}/{}/new", of, jid), format(R"({{"jid": "{}", "user": "{}"}})", jid, user));
  }
  std::string job(const std::string& rest, std::string_view json) {
    return on_event(format("salt/job/{}/{}", kJid, rest), json);
  }

  JobOwners owners;
};

}  // namespace

TEST_CASE_FIXTURE(Bus, "events of a job belong to its user") {
  CHECK(on_event(kJid, R"({"minions": ["m"]})").empty());
  CHECK(begin("fred") == "fred");
  CHECK(job("publish", R"({"user": "fred", "fun": "test.ping"})") == "fred");
  CHECK(job("ret/m", R"({"cmd": "_return", "id": "m", "user": "fred", "return": 1})") == "fred");
  CHECK(on_event(kJid, R"({"cmd": "_return", "id": "m", "user": "fred", "return": 1})") == "fred");
  CHECK(job("prog/m/1", R"({"cmd": "_minion_event", "id": "m", "data": {"ret": 1}})") == "fred");
  CHECK(job("sub/m/error/state.sls", R"({"result": false})") == "fred");
  CHECK(begin("eve", "run") == "eve");
  CHECK(on_event(format("salt/run/{}/any/thing", kJid), "{}") == "eve");
  CHECK(begin("adam", "wheel") == "adam");
  CHECK(on_event(format("salt/wheel/{}/ret", kJid), R"({"user": "adam", "return": 1})") == "adam");
}

TEST_CASE_FIXTURE(Bus, "events without a known job have no owner") {
  begin("fred");
  for (const char* tag : {"salt/auth", "minion_start", "my/tag", "salt/job/20261120233651543849/ret/m",
                          "salt/run/20261120233651543848/new", "syndic/s/20261120233651543848"}) {
    CHECK_MESSAGE(on_event(tag, "{}").empty(), tag);
  }
  CHECK(begin("UNKNOWN", "wheel").empty());
  CHECK(begin("", "run").empty());
  CHECK(on_event("salt/job/1/new", R"({"user": 5})").empty());
}

TEST_CASE_FIXTURE(Bus, "a minion cannot make itself the owner") {
  const char* const forged = R"({"cmd": "_minion_event", "id": "m", "user": "eve", "data": {"user": "eve"}})";
  SUBCASE("before the job begins") {
    CHECK(job("new", forged).empty());
    CHECK(begin("fred") == "fred");
  }
  SUBCASE("after the job begins") {
    CHECK(begin("fred") == "fred");
    CHECK(job("new", forged).empty());
  }
  CHECK(job("ret/m", R"({"cmd": "_return", "id": "m", "user": "fred"})") == "fred");
}

TEST_CASE_FIXTURE(Bus, "an event of a job with two users has no owner") {
  SUBCASE("the forged event first, with a guessed id") {
    CHECK(begin("eve") == "eve");
    CHECK(begin("fred").empty());
  }
  SUBCASE("the real event first") {
    CHECK(begin("fred") == "fred");
    CHECK(begin("eve").empty());
  }
  CHECK(job("prog/m/1", R"({"cmd": "_minion_event", "id": "m"})").empty());
  CHECK(job("ret/m", R"({"cmd": "_return", "id": "m", "user": "fred"})").empty());
  CHECK(begin("eve").empty());
}

TEST_CASE_FIXTURE(Bus, "an event with another user, or a minion's own without progress, has no owner") {
  begin("fred");
  CHECK(job("ret/m", R"({"cmd": "_return", "id": "m", "user": "eve"})").empty());
  CHECK(job("ret/m", R"({"cmd": "_return", "id": "m", "user": 5})").empty());
  // The return of a minion below a syndic names no user.
  CHECK(job("ret/m", R"({"cmd": "_return", "id": "m"})") == "fred");
  const char* const event = R"({"cmd": "_minion_event", "id": "m", "data": {"return": "forged"}})";
  for (const char* rest :
       {"ret/m", "ret/other", "publish", "error", "prog/other/1", "prog/m", "sub/m/error/x"}) {
    CHECK_MESSAGE(job(rest, event).empty(), rest);
  }
  CHECK(on_event(kJid, event).empty());
  CHECK(job("prog/m/1", event) == "fred");
}

TEST_CASE("the number of remembered owners is limited") {
  Bus bus{.owners = JobOwners(2)};
  for (const char* jid : {"1", "2", "3"}) CHECK(bus.begin("fred", "job", jid) == "fred");
  CHECK(bus.on_event("salt/job/1/new", R"({"cmd": "x"})").empty());
  CHECK(bus.on_event("salt/job/3/new", R"({"cmd": "x"})") == "fred");
}

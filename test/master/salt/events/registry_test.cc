// SPDX-License-Identifier: MIT
#include "master/salt/events/registry.h"

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/captured_log.h"
#include "recorder.h"

namespace {

using namespace rest_fcgi;
using namespace rest_fcgi::salt;
using rest_fcgi::test::kBusLost;
using rest_fcgi::test::kPatience;
using rest_fcgi::test::Recorder;

using Heard = std::vector<std::string>;

constexpr ErrorKind kGone = ErrorKind::unavailable;

/// A registry, and a test that plays the bus.
struct Played : Registry {
  explicit Played(BusOptions options = {}) : Registry(options) { joined(); }

  void returns(const std::string& jid, std::string_view data) { hear({"salt/job/" + jid + "/ret/m", data}); }

  Expectation expectation() {
    auto made = expect();
    REQUIRE(made);
    return *std::move(made);
  }

  /// Makes an expectation and lets it go, as a caller does.
  Result<void> listen_at_once(std::string_view jid, std::shared_ptr<Listener> listener) {
    return expectation().listen(jid, std::move(listener));
  }
};

std::string events_lost(std::size_t most) {
  return "lost: More than " + std::to_string(most) +
         " bytes of events came before the Salt master had answered the publication: returns may be missing.";
}

std::string refusal(ErrorKind why) {
  Played registry;
  registry.not_joined(why);
  const auto refused = registry.expect();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::unavailable);
  return refused.error().message;
}

TEST_CASE("a listener hears the events of its job, and nothing else") {
  Played registry;
  const auto mine = std::make_shared<Recorder>();
  const auto other = std::make_shared<Recorder>();
  CHECK(registry.listen_at_once("1", mine));
  CHECK(registry.listen_at_once("2", other));
  registry.returns("2", "a");
  registry.returns("1", "b");
  registry.hear({"syndic/s/1", "c"});
  registry.hear({"salt/run/1/ret", "d"});
  for (const char* tag : {"salt/job/1/new", "salt/auth", "1"}) registry.hear({tag, "e"});
  registry.returns("3", "f");
  CHECK(mine->heard(0) == Heard{"m=b", "s=c", "=d"});
  CHECK(other->heard(0) == Heard{"m=a"});
}

TEST_CASE("what came of a job since the expectation was made is told first, in order, to who listens then") {
  Played registry;
  registry.returns("1", "too early");
  const auto older = registry.expectation();
  registry.returns("1", "early");
  auto expectation = registry.expectation();
  for (const char* data : {"a", "b", "c"}) registry.returns("1", data);
  const auto listener = std::make_shared<Recorder>();
  CHECK(expectation.listen("1", listener));
  registry.returns("1", "d");
  CHECK(listener->heard(0) == Heard{"m=a", "m=b", "m=c", "m=d"});
}

TEST_CASE("what comes of a job while a listener is told of earlier events is told after these") {
  Played registry;
  auto expectation = registry.expectation();
  registry.returns("1", "a");
  registry.returns("1", "b");
  const auto listener = std::make_shared<Recorder>();
  listener->on_hear = [&](std::string_view data) {
    if (data == "a") std::thread([&] { registry.returns("1", "c"); }).join();
    if (data == "c") std::thread([&] { registry.returns("1", "d"); }).join();
  };
  CHECK(expectation.listen("1", listener));
  registry.returns("1", "e");
  CHECK(listener->heard(0) == Heard{"m=a", "m=b", "m=c", "m=d", "m=e"});
  CHECK_FALSE(listener->crowded());
}

TEST_CASE("events of other jobs are heard while a listener works") {
  Played registry;
  auto expectation = registry.expectation();
  registry.returns("1", "a");
  const auto other = std::make_shared<Recorder>();
  CHECK(registry.listen_at_once("2", other));
  const auto slow = std::make_shared<Recorder>();
  slow->on_hear = [&](std::string_view) {
    std::thread([&] { registry.returns("2", "b"); }).join();
    CHECK(other->heard(1) == Heard{"m=b"});
    CHECK(registry.expect());  // a listener may call
  };
  CHECK(expectation.listen("1", slow));
  CHECK(slow->heard(0).size() == 1);
}

TEST_CASE("events are kept no longer than an expectation lives that may want them") {
  const std::size_t each = EarlyEvents::Kept{0, "1", "salt/job/1/ret/m", "a"}.bytes();
  Played registry({.max_early_bytes = each});
  const rest_fcgi::test::CapturedLog log;
  registry.returns("1", "a");
  registry.returns("1", "a");
  for (int i = 0; i < 3; ++i) {
    const auto expectation = registry.expectation();
    registry.returns("1", "a");
  }
  std::optional first(registry.expectation());
  registry.returns("1", "a");
  const auto second = registry.expectation();
  first.reset();
  registry.returns("1", "b");
  CHECK(log.text().empty());  // there was room for each
}

TEST_CASE("where kept events had to be dropped, the log says so once, and their job hears of a loss") {
  const std::size_t each = EarlyEvents::Kept{0, "1", "salt/job/1/ret/m", "a"}.bytes();
  Played registry({.max_early_bytes = 2 * each});
  const rest_fcgi::test::CapturedLog log;
  auto expectation = registry.expectation();
  for (const char* data : {"a", "b", "c", "d"}) registry.returns("1", data);
  const std::string text = log.text();
  const std::size_t told = text.find("bytes of events came for jobs whose publication is not answered yet");
  CHECK(told != std::string::npos);
  CHECK(text.find("bytes of events", told + 1) == std::string::npos);
  const auto listener = std::make_shared<Recorder>();
  CHECK(expectation.listen("1", listener));
  CHECK(listener->heard(0) == Heard{"m=c", "m=d", events_lost(2 * each)});
  registry.returns("1", "e");
  CHECK(listener->heard(0).size() == 4);  // what comes later is heard
  listener->want_no_more();
  const auto again = std::make_shared<Recorder>();
  CHECK(registry.expectation().listen("1", again));
  registry.returns("1", "f");
  CHECK(again->heard(0) == Heard{"m=f"});
}

TEST_CASE("a job all of whose kept events had to be dropped hears of a loss, and others do not") {
  Played registry({.max_early_bytes = 1000});
  auto expectation = registry.expectation();
  registry.returns("1", std::string(1000, 'x'));
  const auto other = std::make_shared<Recorder>();
  CHECK(expectation.listen("2", other));
  registry.returns("2", "a");
  CHECK(other->heard(0) == Heard{"m=a"});
  const auto listener = std::make_shared<Recorder>();
  CHECK(expectation.listen("1", listener));
  CHECK(listener->heard(0) == Heard{events_lost(1000)});
}

TEST_CASE("events that have to be dropped while a listener is told of earlier ones are a loss") {
  const std::size_t each = EarlyEvents::Kept{0, "1", "salt/job/1/ret/m", "a"}.bytes();
  Played registry({.max_early_bytes = each});
  auto expectation = registry.expectation();
  registry.returns("1", "a");
  const auto listener = std::make_shared<Recorder>();
  listener->on_hear = [&](std::string_view data) {
    if (data != "a") return;
    registry.returns("1", "b");
    registry.returns("1", "c");
  };
  CHECK(expectation.listen("1", listener));
  CHECK(listener->heard(0) == Heard{"m=a", "m=c", events_lost(each)});
}

TEST_CASE("a listener that is not wanted any more is dropped with the next event of its job") {
  Played registry;
  auto listener = std::make_shared<Recorder>();
  const std::weak_ptr<Recorder> seen = listener;
  CHECK(registry.listen_at_once("1", listener));
  listener->want_no_more();
  registry.returns("1", "a");
  CHECK(listener->heard(0).empty());
  listener.reset();
  CHECK(seen.expired());
}

TEST_CASE("a listener that wants no more after what it heard is dropped at once") {
  Played registry;
  auto listener = std::make_shared<Recorder>();
  const std::weak_ptr<Recorder> seen = listener;
  CHECK(registry.listen_at_once("1", listener));
  listener->on_hear = [&](std::string_view) { seen.lock()->want_no_more(); };
  registry.returns("1", "a");
  listener.reset();
  CHECK(seen.expired());
}

TEST_CASE("a sweep drops the listeners that are not wanted any more, and no others") {
  Played registry;
  auto done = std::make_shared<Recorder>();
  const std::weak_ptr<Recorder> seen = done;
  const auto waiting = std::make_shared<Recorder>();
  CHECK(registry.listen_at_once("1", done));
  CHECK(registry.listen_at_once("2", waiting));
  done->want_no_more();
  done.reset();
  registry.sweep();
  CHECK(seen.expired());
  registry.returns("2", "a");
  CHECK(waiting->heard(0) == Heard{"m=a"});
}

TEST_CASE("too many jobs are refused, until one of them is not waited for any more") {
  Played registry({.max_jobs = 2});
  const auto first = std::make_shared<Recorder>();
  CHECK(registry.listen_at_once("1", first));
  CHECK(registry.listen_at_once("2", std::make_shared<Recorder>()));
  const auto third = std::make_shared<Recorder>();
  const auto refused = registry.expect();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::unavailable);
  CHECK(refused.error().message == "2 jobs of the Salt master are waited for: no more can be now.");
  first->want_no_more();
  CHECK(registry.listen_at_once("3", third));
  registry.returns("3", "a");
  CHECK(third->heard(0) == Heard{"m=a"});
}

TEST_CASE("a job has one listener, and a new one where that is not wanted any more") {
  Played registry;
  const auto first = std::make_shared<Recorder>();
  const auto second = std::make_shared<Recorder>();
  CHECK(registry.listen_at_once("1", first));
  const auto refused = registry.listen_at_once("1", second);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::unavailable);
  CHECK(refused.error().message == "Another call waits for the job 1 already.");
  first->want_no_more();
  CHECK(registry.listen_at_once("1", second));
  registry.returns("1", "a");
  CHECK(first->heard(0).empty());
  CHECK(second->heard(0) == Heard{"m=a"});
}

TEST_CASE("a listener that is still told of earlier events keeps its job, wanted or not") {
  Played registry;
  auto expectation = registry.expectation();
  registry.returns("1", "a");
  const auto first = std::make_shared<Recorder>();
  first->on_hear = [&](std::string_view) {
    first->want_no_more();
    registry.sweep();
    CHECK_FALSE(registry.listen_at_once("1", std::make_shared<Recorder>()));
  };
  CHECK(expectation.listen("1", first));
  first->on_hear = {};
  CHECK(expectation.listen("1", std::make_shared<Recorder>()));
}

TEST_CASE("a listener that fails while it is told of earlier events does not keep its job") {
  Played registry;
  auto expectation = registry.expectation();
  registry.returns("1", "a");
  const auto first = std::make_shared<Recorder>();
  first->on_hear = [](std::string_view) { throw std::bad_alloc(); };
  CHECK_THROWS_AS(static_cast<void>(expectation.listen("1", first)), std::bad_alloc);
  const auto second = std::make_shared<Recorder>();
  CHECK(expectation.listen("1", second));
  registry.returns("1", "b");
  CHECK(second->heard(0) == Heard{"m=b"});
}

TEST_CASE("every listener is told once that the bus is lost, and hears what comes when it is back") {
  Played registry;
  const auto first = std::make_shared<Recorder>();
  const auto second = std::make_shared<Recorder>();
  CHECK(registry.listen_at_once("1", first));
  CHECK(registry.listen_at_once("2", second));
  registry.not_joined(kGone);
  registry.not_joined(kGone);
  registry.joined();
  registry.returns("1", "a");
  CHECK(first->heard(0) == Heard{kBusLost, "m=a"});
  CHECK(second->heard(0) == Heard{kBusLost});
  registry.not_joined(kGone);
  CHECK(first->heard(0) == Heard{kBusLost, "m=a", kBusLost});
}

TEST_CASE(
    "an expectation from before a loss gives its listeners the loss, also once the bus is joined again") {
  Played registry;
  std::optional expectation(registry.expectation());
  registry.returns("1", "a");
  registry.not_joined(kGone);
  const auto first = std::make_shared<Recorder>();
  CHECK(expectation->listen("1", first));
  CHECK(first->heard(0) == Heard{kBusLost});
  registry.joined();
  registry.returns("1", "b");
  CHECK(first->heard(0) == Heard{kBusLost, "m=b"});
  registry.returns("2", "c");
  const auto second = std::make_shared<Recorder>();
  CHECK(expectation->listen("2", second));
  CHECK(second->heard(0) == Heard{kBusLost, "m=c"});
  expectation.reset();
  const auto third = std::make_shared<Recorder>();
  CHECK(registry.listen_at_once("3", third));
  registry.returns("3", "d");
  CHECK(third->heard(0) == Heard{"m=d"});
}

TEST_CASE("a bus that is lost while a listener is told of earlier events is lost after these") {
  for (const bool rejoined : {false, true}) {
    Played registry;
    auto expectation = registry.expectation();
    registry.returns("1", "a");
    registry.returns("1", "b");
    const auto listener = std::make_shared<Recorder>();
    listener->on_hear = [&](std::string_view data) {
      if (data != "a") return;
      registry.not_joined(kGone);
      if (rejoined) registry.joined();
    };
    CHECK(expectation.listen("1", listener));
    CHECK(listener->heard(0) == Heard{"m=a", "m=b", kBusLost});
  }
}

TEST_CASE("who expects a job of a bus that is not joined is told why, in a sentence for callers") {
  CHECK(refusal(kGone) == "Salt Master is not available.");
  CHECK(refusal(ErrorKind::authorization) ==
        "The Salt master's event bus is closed to this responder: its user has no permission to connect to "
        "master_event_pub.ipc.");
  CHECK(refusal(ErrorKind::configuration) ==
        "The Salt master's event bus has no address that this responder can connect to.");
}

TEST_CASE("who waits for the bus goes on as soon as it is joined") {
  Registry registry{BusOptions()};
  std::thread joins([&] { registry.joined(); });
  CHECK(registry.wait_until_joined(std::chrono::steady_clock::now() + kPatience));
  joins.join();
}

TEST_CASE("who waits for the bus is let go, and who listens is told, when the registry closes") {
  Played registry;
  const auto listener = std::make_shared<Recorder>();
  CHECK(registry.listen_at_once("1", listener));
  registry.close();
  CHECK(listener->heard(0) == Heard{kBusLost});
  CHECK_FALSE(registry.wait_until_joined(std::chrono::steady_clock::now() + kPatience));
  registry.joined();
  CHECK_FALSE(registry.wait_until_joined(std::chrono::steady_clock::now() + kPatience));
  CHECK_FALSE(registry.expect());
}

TEST_CASE("a job that a caller chose is claimed before it is published, and again when that is over") {
  Played registry;
  auto claim = registry.expect("1");
  REQUIRE(claim);
  std::optional first(*std::move(claim));
  const auto refused = registry.expect("1");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "Another call waits for the job 1 already.");
  CHECK(registry.expect("2"));
  const auto listener = std::make_shared<Recorder>();
  CHECK(first->listen("1", listener));
  first.reset();
  CHECK_FALSE(registry.expect("1"));
  listener->want_no_more();
  CHECK(registry.expect("1"));
}

TEST_CASE("an event of a job whose listener is not wanted any more is kept for the next one") {
  Played registry;
  const auto first = std::make_shared<Recorder>();
  CHECK(registry.listen_at_once("1", first));
  first->want_no_more();
  auto expectation = registry.expectation();
  registry.returns("1", "a");
  const auto second = std::make_shared<Recorder>();
  CHECK(expectation.listen("1", second));
  CHECK(second->heard(0) == Heard{"m=a"});
  CHECK(first->heard(0).empty());
}

TEST_CASE("a place for a listener is there before something is published, or it is not") {
  Played registry({.max_jobs = 2});
  auto first = registry.expectation();
  std::optional second(registry.expectation());
  CHECK_FALSE(registry.expect());
  second.reset();
  auto third = registry.expect();
  REQUIRE(third);
  CHECK(first.listen("1", std::make_shared<Recorder>()));
  CHECK(third->listen("2", std::make_shared<Recorder>()));
}

}  // namespace

namespace {

using rest_fcgi::salt::EarlyEvents;

EarlyEvents::Kept event(std::uint64_t number, const std::string& jid, const std::string& data) {
  return {number, jid, "tag", data};
}

std::string taken(EarlyEvents& events, std::string_view jid, std::uint64_t since = 0) {
  std::string text;
  for (const auto& kept : events.take(jid, since)) text += kept.data;
  return text;
}

TEST_CASE("events of one job are taken in order, once, and those of others stay") {
  EarlyEvents events(10000);
  for (const char* data : {"a", "b", "c"}) {
    CHECK(events.keep(event(1, "1", data)) == 0);
    CHECK(events.keep(event(2, "2", data)) == 0);
  }
  CHECK(taken(events, "1") == "abc");
  CHECK(taken(events, "1").empty());
  CHECK_FALSE(events.empty());
  CHECK(taken(events, "2") == "abc");
  CHECK(events.empty());
}

TEST_CASE("jobs whose ids begin alike are told apart, also after the oldest events went") {
  const std::size_t each = event(1, "11", "x").bytes();
  EarlyEvents events(3 * each);
  CHECK(events.keep(event(1, "1", "a")) == 0);
  CHECK(events.keep(event(2, "11", "b")) == 0);
  CHECK(events.keep(event(3, "1", "c")) == 0);
  CHECK(events.keep(event(4, "11", "d")) == 1);
  CHECK(taken(events, "1") == "c");
  CHECK(taken(events, "11", 3) == "d");
  CHECK(taken(events, "11") == "b");
  CHECK(events.empty());
}

TEST_CASE("events from before a number are not taken, and can be dropped") {
  EarlyEvents events(10000);
  for (std::uint64_t number = 1; number <= 4; ++number) {
    CHECK(events.keep(event(number, "1", std::to_string(number))) == 0);
  }
  CHECK(taken(events, "1", 4) == "4");
  events.drop_before(3);
  CHECK(taken(events, "1") == "3");
}

TEST_CASE("the oldest events go where more bytes come than may be kept") {
  const std::size_t each = event(1, "1", "x").bytes();
  EarlyEvents events(3 * each);
  for (const char* data : {"a", "b", "c"}) CHECK(events.keep(event(1, "1", data)) == 0);
  CHECK(events.keep(event(1, "1", "d")) == 1);
  CHECK(events.keep(event(1, "1", std::string(each + 1, 'e'))) == 2);
  CHECK(taken(events, "1") == "d" + std::string(each + 1, 'e'));
  for (const char* data : {"f", "g", "h"}) CHECK(events.keep(event(1, "1", data)) == 0);
}

TEST_CASE("an event that alone is more than may be kept goes, with all others") {
  EarlyEvents events(1000);
  CHECK(events.keep(event(1, "1", "a")) == 0);
  CHECK(events.keep(event(2, "1", std::string(1000, 'x'))) == 2);
  CHECK(events.empty());
}

TEST_CASE("the jobs that have lost events are known, until nobody can want these any more") {
  const std::size_t each = event(1, "1", "x").bytes();
  EarlyEvents events(each);
  CHECK(events.keep(event(1, "1", "a")) == 0);
  CHECK_FALSE(events.lost("1", 1));
  CHECK(events.keep(event(2, "2", "b")) == 1);
  CHECK(events.lost("1", 1));
  CHECK_FALSE(events.lost("1", 2));
  CHECK_FALSE(events.lost("2", 1));
  CHECK(taken(events, "2") == "b");
  CHECK_FALSE(events.lost("2", 1));  // it was taken, and not lost
  events.drop_before(2);
  CHECK_FALSE(events.lost("1", 1));
}

TEST_CASE("an event that alone is more than may be kept is lost, and cleared events are forgotten") {
  EarlyEvents events(1000);
  CHECK(events.keep(event(1, "1", std::string(1000, 'x'))) == 1);
  CHECK(events.lost("1", 1));
  events.clear();
  CHECK_FALSE(events.lost("1", 1));
}

TEST_CASE("where very many jobs have lost events, every job has that may have") {
  EarlyEvents events(0);
  std::uint64_t number = 1;
  for (; number <= 1000; ++number) CHECK(events.keep(event(number, std::to_string(number), "x")) == 1);
  CHECK_FALSE(events.lost("another", 1));
  CHECK(events.keep(event(number, std::to_string(number), "x")) == 1);
  CHECK(events.lost("another", 1));
  CHECK(events.lost("another", number));
  CHECK_FALSE(events.lost("another", number + 1));
}

TEST_CASE("room that was taken is free again after events were taken, dropped or cleared") {
  const std::size_t each = event(1, "1", "x").bytes();
  EarlyEvents events(each);
  CHECK(events.keep(event(1, "1", "a")) == 0);
  CHECK(taken(events, "1") == "a");
  CHECK(events.keep(event(2, "1", "b")) == 0);
  events.drop_before(3);
  CHECK(events.keep(event(3, "1", "c")) == 0);
  events.clear();
  CHECK(events.empty());
  CHECK(events.keep(event(4, "1", "d")) == 0);
}

}  // namespace

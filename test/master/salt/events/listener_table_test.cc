// SPDX-License-Identifier: MIT
#include "master/salt/events/listener_table.h"

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/captured_log.h"
#include "listeners.h"
#include "master/salt/release_series.h"

namespace {

using namespace rest_fcgi;
using namespace rest_fcgi::salt;
using namespace rest_fcgi::test;

using Heard = std::vector<std::string>;

constexpr ErrorKind kGone = ErrorKind::unavailable;

/// A registry whose events come from a test instead of the event bus.
struct Played : ListenerTable {
  explicit Played(BusOptions options = {}) : ListenerTable(options) { joined(); }

  void returns(const std::string& jid, std::string_view data) {
    on_event({"salt/job/" + jid + "/ret/m", data});
  }

  Expectation make_expectation() {
    auto made = expect();
    REQUIRE(made);
    return *std::move(made);
  }

  Result<void> listen_at_once(std::string_view jid, std::shared_ptr<Listener> listener) {
    return make_expectation().listen(jid, std::move(listener));
  }

  std::shared_ptr<Recorder> listener(std::string_view jid) {
    auto made = std::make_shared<Recorder>();
    CHECK(listen_at_once(jid, made));
    return made;
  }
};

std::shared_ptr<Recorder> listener_of(ListenerTable::Expectation& expectation, std::string_view jid) {
  auto made = std::make_shared<Recorder>();
  CHECK(expectation.listen(jid, made));
  return made;
}

/// Returns the size of one stored event of `Played::returns`, as the registry counts it.
std::size_t bytes_of_each() {
  return EarlyEvents::Kept{0, "1", "salt/job/1/ret/m", "a"}.bytes();
}

std::string events_lost(std::size_t most) {
  return "lost: more than " + std::to_string(most) +
         " bytes of events arrived before the Salt master's reply to the publication.";
}

std::string refusal(ErrorKind why) {
  Played registry;
  registry.not_joined(why);
  const auto refused = registry.expect();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::unavailable);
  return refused.error().message;
}

TEST_CASE_FIXTURE(Played, "a listener gets only events of its job") {
  const auto mine = listener("1");
  const auto other = listener("2");
  returns("2", "a");
  returns("1", "b");
  on_event({"syndic/s/1", "c"});
  on_event({"salt/run/1/ret", "d"});
  for (const char* tag : {"salt/job/1/new", "salt/auth", "1"}) on_event({tag, "e"});
  returns("3", "f");
  CHECK(mine->received(0) == Heard{"m=b", "s=c", "=d"});
  CHECK(other->received(0) == Heard{"m=a"});
}

TEST_CASE_FIXTURE(Played, "a listener first gets events since its expectation") {
  returns("1", "too early");
  const auto older = make_expectation();
  returns("1", "early");
  auto expectation = make_expectation();
  for (const char* data : {"a", "b", "c"}) returns("1", data);
  const auto listener = listener_of(expectation, "1");
  returns("1", "d");
  CHECK(listener->received(0) == Heard{"m=a", "m=b", "m=c", "m=d"});
}

TEST_CASE_FIXTURE(Played, "events during a replay follow the replayed ones") {
  auto expectation = make_expectation();
  returns("1", "a");
  returns("1", "b");
  const auto listener = std::make_shared<Recorder>();
  listener->on_hear = [&](std::string_view data) {
    if (data == "a") std::thread([&] { returns("1", "c"); }).join();
    if (data == "c") std::thread([&] { returns("1", "d"); }).join();
  };
  CHECK(expectation.listen("1", listener));
  returns("1", "e");
  CHECK(listener->received(0) == Heard{"m=a", "m=b", "m=c", "m=d", "m=e"});
  CHECK_FALSE(listener->crowded());
}

TEST_CASE_FIXTURE(Played, "a slow listener does not block others") {
  auto expectation = make_expectation();
  returns("1", "a");
  const auto other = listener("2");
  const auto slow = std::make_shared<Recorder>();
  slow->on_hear = [&](std::string_view) {
    std::thread([&] { returns("2", "b"); }).join();
    CHECK(other->received(1) == Heard{"m=b"});
    CHECK(expect());
  };
  CHECK(expectation.listen("1", slow));
  CHECK(slow->received(0).size() == 1);
}

TEST_CASE("events are kept only while an expectation needs them") {
  Played registry({.max_early_bytes = bytes_of_each()});
  const rest_fcgi::test::CapturedLog log;
  registry.returns("1", "a");
  registry.returns("1", "a");
  for (int i = 0; i < 3; ++i) {
    const auto expectation = registry.make_expectation();
    registry.returns("1", "a");
  }
  std::optional first(registry.make_expectation());
  registry.returns("1", "a");
  const auto second = registry.make_expectation();
  first.reset();
  registry.returns("1", "b");
  CHECK(log.text().empty());
}

TEST_CASE("dropped events are logged once and reported to their job") {
  const std::size_t most = 2 * bytes_of_each();
  Played registry({.max_early_bytes = most});
  const rest_fcgi::test::CapturedLog log;
  auto expectation = registry.make_expectation();
  for (const char* data : {"a", "b", "c", "d"}) registry.returns("1", data);
  const std::string text = log.text();
  const std::size_t first = text.find("bytes of events arrived for jobs");
  CHECK(first != std::string::npos);
  CHECK(text.find("bytes of events", first + 1) == std::string::npos);
  const auto listener = listener_of(expectation, "1");
  CHECK(listener->received(0) == Heard{"m=c", "m=d", events_lost(most)});
  registry.returns("1", "e");
  CHECK(listener->received(0).size() == 4);
  listener->want_no_more();
  const auto again = registry.listener("1");
  registry.returns("1", "f");
  CHECK(again->received(0) == Heard{"m=f"});
}

TEST_CASE("only jobs that lost events are told") {
  Played registry({.max_early_bytes = 1000});
  auto expectation = registry.make_expectation();
  registry.returns("1", std::string(1000, 'x'));
  const auto other = listener_of(expectation, "2");
  registry.returns("2", "a");
  CHECK(other->received(0) == Heard{"m=a"});
  const auto listener = listener_of(expectation, "1");
  CHECK(listener->received(0) == Heard{events_lost(1000)});
}

TEST_CASE("a listener that is no longer needed is removed with the next event") {
  for (const bool during_event : {false, true}) {
    Played registry;
    auto listener = std::make_shared<Recorder>();
    const std::weak_ptr<Recorder> seen = listener;
    CHECK(registry.listen_at_once("1", listener));
    listener->on_hear = [&](std::string_view) { seen.lock()->want_no_more(); };
    if (!during_event) listener->want_no_more();
    registry.returns("1", "a");
    CHECK(listener->received(0).empty() != during_event);
    listener.reset();
    CHECK(seen.expired());
  }
}

TEST_CASE("the number of listeners is limited") {
  Played registry({.max_jobs = 2});
  const auto first = registry.listener("1");
  const auto second = registry.listener("2");
  const auto refused = registry.expect();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::unavailable);
  CHECK(refused.error().message.starts_with("2 jobs of the Salt master already wait for returns"));
  first->want_no_more();
  const auto third = registry.listener("3");
  registry.returns("3", "a");
  CHECK(third->received(0) == Heard{"m=a"});
}

TEST_CASE_FIXTURE(Played, "a job has one listener at a time") {
  const auto first = std::make_shared<Recorder>();
  const auto second = std::make_shared<Recorder>();
  CHECK(listen_at_once("1", first));
  const auto refused = listen_at_once("1", second);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::unavailable);
  CHECK(refused.error().message == "Another call already waits for the job 1.");
  first->want_no_more();
  CHECK(listen_at_once("1", second));
  returns("1", "a");
  CHECK(first->received(0).empty());
  CHECK(second->received(0) == Heard{"m=a"});
}

TEST_CASE_FIXTURE(Played, "each listener is told once about a loss") {
  const auto first = listener("1");
  const auto second = listener("2");
  not_joined(kGone);
  not_joined(kGone);
  joined();
  returns("1", "a");
  CHECK(first->received(0) == Heard{kBusLost, "m=a"});
  CHECK(second->received(0) == Heard{kBusLost});
  not_joined(kGone);
  CHECK(first->received(0) == Heard{kBusLost, "m=a", kBusLost});
}

TEST_CASE_FIXTURE(Played, "an expectation reports an earlier loss") {
  auto expectation = make_expectation();
  returns("1", "a");
  not_joined(kGone);
  const auto first = listener_of(expectation, "1");
  CHECK(first->received(0) == Heard{kBusLost});
  joined();
  returns("1", "b");
  CHECK(first->received(0) == Heard{kBusLost, "m=b"});
  returns("2", "c");
  const auto second = listener_of(expectation, "2");
  CHECK(second->received(0) == Heard{kBusLost, "m=c"});
  const auto third = listener("3");
  returns("3", "d");
  CHECK(third->received(0) == Heard{"m=d"});
}

TEST_CASE("a loss during a replay is reported after it") {
  for (const bool rejoined : {false, true}) {
    Played registry;
    auto expectation = registry.make_expectation();
    registry.returns("1", "a");
    registry.returns("1", "b");
    const auto listener = std::make_shared<Recorder>();
    listener->on_hear = [&](std::string_view data) {
      if (data != "a") return;
      registry.not_joined(kGone);
      if (rejoined) registry.joined();
    };
    CHECK(expectation.listen("1", listener));
    CHECK(listener->received(0) == Heard{"m=a", "m=b", kBusLost});
  }
}

TEST_CASE("without the bus expect fails, and close releases waiting threads and listeners") {
  CHECK(refusal(kGone) == kMasterNotAvailable);
  CHECK(refusal(ErrorKind::authorization) ==
        "rest_fcgi cannot connect to the Salt master's event bus: its user has no permission for "
        "master_event_pub.ipc.");
  CHECK(refusal(ErrorKind::configuration) ==
        "rest_fcgi cannot connect to the Salt master's event bus: the configured address cannot be used.");
  Played registry;
  const auto listener = registry.listener("1");
  registry.close();
  CHECK(listener->received(0) ==
        Heard{"lost: rest_fcgi stops. The job goes on, and the runner jobs.lookup_jid shows its returns."});
  CHECK_FALSE(registry.wait_until_joined(std::chrono::steady_clock::now() + kPatience));
  registry.joined();
  CHECK_FALSE(registry.wait_until_joined(std::chrono::steady_clock::now() + kPatience));
  CHECK_FALSE(registry.expect());
}

TEST_CASE_FIXTURE(Played, "a chosen job id is claimed until it is used") {
  auto claim = expect("1");
  REQUIRE(claim);
  std::optional first(*std::move(claim));
  const auto refused = expect("1");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "Another call already waits for the job 1.");
  CHECK(expect("2"));
  const auto listener = listener_of(*first, "1");
  first.reset();
  CHECK_FALSE(expect("1"));
  listener->want_no_more();
  CHECK(expect("1"));
}

TEST_CASE("after very many losses each job may have lost events") {
  EarlyEvents events(0);
  const auto lose = [&](std::uint64_t number) {
    CHECK(events.keep({number, std::to_string(number), "tag", "x"}) == 1);
  };
  std::uint64_t number = 1;
  for (; number <= 1000; ++number) lose(number);
  CHECK_FALSE(events.has_lost("another", 1));
  lose(number);
  CHECK(events.has_lost("another", 1));
  CHECK(events.has_lost("another", number));
  CHECK_FALSE(events.has_lost("another", number + 1));
}

}  // namespace

// SPDX-License-Identifier: MIT
#include "rest_fcgi/master/events.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../support/manual_clock.h"

using namespace rest_fcgi;
using master::check_event;
using master::EventLimits;
using master::EventLog;
using master::EventPermit;
using master::EventPtr;
using master::EventReader;
using master::Wake;

namespace {

std::string refusal(std::string_view tag, const Json& data = Json::empty_object()) {
  const auto checked = check_event(tag, data);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().kind == ErrorKind::invocation);
  return checked.error().message;
}

const EventPermit kAll{auth::EventScope::all, "fred"};
constexpr std::size_t kMuch = 1 << 20;
const Json kNone = Json::empty_object();

std::vector<EventPtr> read(EventReader& reader, std::size_t most_bytes = kMuch, const Wake& wake = nullptr) {
  std::vector<EventPtr> events;
  const auto done = reader.read(events, most_bytes, wake);
  if (!done) FAIL(done.error().message);
  return events;
}

std::string tags(const std::vector<EventPtr>& events) {
  std::string all;
  for (const EventPtr& event : events) all += event->tag() + " ";
  return all;
}

std::unique_ptr<EventReader> reader(EventLog& log, const EventPermit& permit = kAll,
                                    std::string_view after = {}) {
  auto made = log.reader(permit, after);
  if (!made) FAIL(made.error().message);
  return *std::move(made);
}

Error ended(EventReader& reader) {
  std::vector<EventPtr> events;
  const auto done = reader.read(events, kMuch, nullptr);
  REQUIRE(!done);
  CHECK(events.empty());
  return done.error();
}

std::string sse_of(const master::Event& event) {
  const auto [fields, id] = event.block_with_id();
  return std::string(fields).append(id);
}

std::string id_of(const EventPtr& event) {
  const std::string_view line = event->block_with_id()[1];
  REQUIRE(line.starts_with("id: "));
  return std::string(line.substr(4, line.find('\n') - 4));
}

}  // namespace

TEST_CASE(
    "check_event refuses an empty, long or multi-line tag, and data that is no object or nested too deeply") {
  CHECK(check_event("salt/netapi/hook/\xC3\xA4 b", Json::trusted(R"({"post": {"a": [1]}})")));
  CHECK(check_event(std::string(512, 'a'), Json::empty_object()));
  CHECK(refusal("").find("found an empty string") != std::string::npos);
  CHECK(refusal(std::string(513, 'a')).find("found 513 bytes") != std::string::npos);
  for (const std::string_view tag : {std::string_view("a\nb"), std::string_view("a\r"),
                                     std::string_view("a\0b", 3), std::string_view("\x7F")}) {
    CHECK(refusal(tag).find("found a control character") != std::string::npos);
  }
  for (const char* tag : {"\xFF", "a\xC3", "\xED\xA0\x80", "\x80"}) {
    CHECK(refusal(tag).find("not UTF-8") != std::string::npos);
  }
  CHECK(refusal("a", Json::trusted("[1]")) == "An event's data: found list, expected an object.");
  CHECK(refusal("a", Json::string("x")) == "An event's data: found str, expected an object.");
  const auto nested = [](std::size_t depth) {
    return Json::trusted(R"({"a": )" + std::string(depth, '[') + std::string(depth, ']') + "}");
  };
  CHECK(check_event("a", nested(399)));
  CHECK(refusal("a", nested(400)).starts_with("An event's data: "));
}

TEST_CASE("all forms of an event are parts of one text") {
  const master::Event event("e-1", "salt/job/1/new", Json::trusted(R"({"jid": "1"})"), "fred");
  const std::string fields =
      "tag: salt/job/1/new\ndata: {\"data\": {\"jid\": \"1\"}, \"tag\": \"salt/job/1/new\"}\n";
  CHECK(sse_of(event) == fields + "id: e-1\n\n");
  CHECK(event.block() == fields + "\n");
  CHECK(event.data_lines() == "data: {\"data\": {\"jid\": \"1\"}, \"tag\": \"salt/job/1/new\"}\n\n");
  CHECK(event.json() == R"({"data": {"jid": "1"}, "tag": "salt/job/1/new"})");
  CHECK(event.data() == R"({"jid": "1"})");
  const master::Event bytes("e-3", "a\xFF", kNone, "");
  CHECK(bytes.block() == "tag: a\xEF\xBF\xBD\ndata: {\"data\": {}, \"tag\": \"a\xEF\xBF\xBD\"}\n\n");
  const master::Event odd("e-2", "a\ndata: \"x", kNone, "");
  CHECK(odd.block() == "tag: a\\ndata: \\\"x\ndata: {\"data\": {}, \"tag\": \"a\\ndata: \\\"x\"}\n\n");
}

TEST_CASE("without listeners in the last minute no event is kept") {
  test::ManualClock clock;
  const auto log = std::make_shared<EventLog>(clock);
  CHECK(!log->wanted());
  log->append("before", kNone, "");
  std::string last;
  {
    const auto first = reader(*log);
    CHECK(log->wanted());
    log->append("a", kNone, "");
    const auto events = read(*first);
    CHECK(tags(events) == "a ");
    last = id_of(events.back());
  }
  clock.advance(std::chrono::seconds(59));
  CHECK(log->wanted());
  log->append("b", kNone, "");
  const auto missed = read(*reader(*log, kAll, last));
  CHECK(tags(missed) == "b ");
  clock.advance(std::chrono::seconds(61));
  CHECK(!log->wanted());
  const auto late = log->reader(kAll, id_of(missed.back()));
  REQUIRE(!late);
  CHECK(late.error().kind == ErrorKind::not_found);
}

TEST_CASE("a reader gets the permitted events in order, in parts") {
  const auto log = std::make_shared<EventLog>(system_clock());
  const auto all = reader(*log);
  const auto own = reader(*log, {auth::EventScope::own, "fred"});
  const auto nobody = reader(*log, {auth::EventScope::own, ""});
  log->append("freds", kNone, "fred");
  log->append("nobodys", kNone, "");
  log->append("annas", kNone, "anna");
  CHECK(tags(read(*all, 1)) == "freds ");
  CHECK(tags(read(*all)) == "nobodys annas ");
  CHECK(tags(read(*own)) == "freds ");
  CHECK(read(*nobody).empty());
  own->permit(kAll);
  log->append("later", kNone, "anna");
  CHECK(tags(read(*own)) == "later ");
  log->append("skipped", kNone, "fred");
  own->skip_to_end();
  CHECK(read(*own).empty());
}

TEST_CASE("a waiting reader is woken once") {
  const auto log = std::make_shared<EventLog>(system_clock());
  const auto one = reader(*log);
  const auto other = reader(*log, {auth::EventScope::own, "fred"});
  int woken = 0;
  const Wake wake = std::make_shared<const std::function<void()>>([&woken] { ++woken; });
  CHECK(read(*one, kMuch, wake).empty());
  CHECK(read(*other, kMuch, wake).empty());
  log->append("a", kNone, "anna");
  log->append("b", kNone, "anna");
  CHECK(woken == 1);
  CHECK(tags(read(*one, kMuch, wake)) == "a b ");
  log->append("c", kNone, "anna");
  CHECK(woken == 1);
  CHECK(read(*other, kMuch, wake).empty());
  log->lose("gone");
  CHECK(woken == 2);
}

TEST_CASE("a slow reader gets an error after events were dropped") {
  const auto log = std::make_shared<EventLog>(system_clock(), EventLimits{3, kMuch});
  const auto slow = reader(*log);
  const auto quick = reader(*log);
  for (const char* tag : {"a", "b", "c", "d"}) {
    log->append(tag, kNone, "");
    CHECK(read(*quick).size() == 1);
  }
  CHECK(ended(*slow).kind == ErrorKind::timeout);
}

TEST_CASE("the log limits its bytes, and keeps one event of any size") {
  const auto log = std::make_shared<EventLog>(system_clock(), EventLimits{100, 5000});
  const auto slow = reader(*log);
  const Json large = Json::trusted(R"({"x": ")" + std::string(4500, 'x') + R"("})");
  log->append("a", large, "");
  CHECK(tags(read(*slow)) == "a ");
  log->append("b", large, "");
  CHECK(tags(read(*slow)) == "b ");
  log->append("c", large, "");
  log->append("d", large, "");
  CHECK(ended(*slow).kind == ErrorKind::timeout);
}

TEST_CASE("after a loss readers get the earlier events and then the reason") {
  const auto log = std::make_shared<EventLog>(system_clock());
  const auto before = reader(*log);
  log->append("a", kNone, "");
  log->lose("the event bus was lost");
  log->append("b", kNone, "");
  std::vector<EventPtr> events;
  const auto done = before->read(events, kMuch, nullptr);
  CHECK(tags(events) == "a ");
  REQUIRE(!done);
  CHECK(done.error().kind == ErrorKind::unavailable);
  CHECK(done.error().message == "the event bus was lost");
  CHECK(ended(*before).kind == ErrorKind::unavailable);
  const auto late = log->reader(kAll, id_of(events.front()));
  REQUIRE(!late);
  CHECK(late.error().kind == ErrorKind::not_found);
  const auto after = reader(*log);
  log->append("c", kNone, "");
  CHECK(tags(read(*after)) == "c ");
}

TEST_CASE("a listener continues after an event of this log") {
  const auto log = std::make_shared<EventLog>(system_clock());
  const auto first = reader(*log);
  for (const char* tag : {"a", "b", "c"}) log->append(tag, kNone, "");
  const auto events = read(*first);
  CHECK(tags(read(*reader(*log, kAll, id_of(events[0])))) == "b c ");
  CHECK(read(*reader(*log, kAll, id_of(events[2]))).empty());
  const std::string epoch = id_of(events[0]).substr(0, id_of(events[0]).find('-'));
  const std::string others = "0123456789abcdef-1";
  for (const std::string& id :
       {epoch + "-99", epoch + "-", epoch, epoch + "-1x", epoch + "-18446744073709551615", epoch + "--1",
        others, std::string("1"), std::string("-")}) {
    const auto refused = log->reader(kAll, id);
    REQUIRE_MESSAGE(!refused, id);
    CHECK(refused.error().kind == ErrorKind::not_found);
  }
}

// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "master/salt/events/registry.h"

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

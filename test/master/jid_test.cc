// SPDX-License-Identifier: MIT
#include "rest_fcgi/master/jid.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "rest_fcgi/core/jid.h"

using namespace rest_fcgi;
using namespace rest_fcgi::master;

namespace {

class HandClock : public Clock {
 public:
  [[nodiscard]] WallTime wall() const override { return now; }
  [[nodiscard]] SteadyTime steady() const override { return {}; }
  WallTime now = *jid_time("20260102030405000010");
};

/// A fake store in which processes reserve ranges of jids. All jids before `end`, in microseconds, are
/// reserved.
struct Ranges {
  std::int64_t end = 0;
  int reserved = 0;
  JidReserve reserve() {
    return [this](std::int64_t now, std::int64_t length) {
      ++reserved;
      end = std::max(end, now) + length;
      return std::optional(end - length);
    };
  }
};

bool all_different(std::vector<std::string> jids) {
  std::sort(jids.begin(), jids.end());
  return std::adjacent_find(jids.begin(), jids.end()) == jids.end();
}

/// Takes `count` jids of each source in turns. Checks that the jids of each source ascend.
std::vector<std::string> in_turns(JidSource& first, JidSource& second, int count) {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(first.next());
    all.push_back(second.next());
    if (i > 0) CHECK(all[all.size() - 2] > all[all.size() - 4]);
  }
  return all;
}

std::vector<std::string> many(JidSource& source, int count) {
  std::vector<std::string> jids;
  for (int i = 0; i < count; ++i) jids.push_back(source.next());
  return jids;
}

}  // namespace

TEST_CASE("jids of many threads are unique") {
  Ranges ranges;
  JidSource source(system_clock(), ranges.reserve());
  std::vector<std::vector<std::string>> parts(8);
  std::vector<std::thread> threads;
  for (auto& part : parts) threads.emplace_back([&] { part = many(source, 20'000); });
  for (auto& thread : threads) thread.join();
  std::vector<std::string> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  CHECK(all_different(all));
  CHECK(std::all_of(all.begin(), all.end(), [](const std::string& jid) { return jid.size() == 20; }));
}

TEST_CASE("sources with shared ranges make unique, ascending jids") {
  HandClock clock;
  Ranges ranges;
  JidSource first(clock, ranges.reserve());
  JidSource second(clock, ranges.reserve());
  CHECK(all_different(in_turns(first, second, 30'000)));
  CHECK(ranges.reserved == 6);
}

TEST_CASE("a later source continues after the range of an earlier one, even if its clock is behind") {
  HandClock clock;
  Ranges ranges;
  CHECK(JidSource(clock, ranges.reserve()).next() == "20260102030405000010");
  clock.now -= std::chrono::minutes(1);
  CHECK(JidSource(clock, ranges.reserve()).next() == "20260102030405010010");
}

TEST_CASE("a jid is the clock's time unless that was used") {
  HandClock clock;
  Ranges ranges;
  JidSource source(clock, ranges.reserve());
  CHECK(source.next() == "20260102030405000010");
  CHECK(source.next() == "20260102030405000011");
  clock.now += std::chrono::seconds(1);
  CHECK(source.next() == "20260102030406000010");
}

TEST_CASE("hosts with different shares make unique jids") {
  HandClock clock;
  Ranges ranges;
  Ranges of_other_host;
  JidSource first(clock, ranges.reserve(), {64, 0});
  JidSource second(clock, of_other_host.reserve(), {64, 63});
  CHECK(jid_time(first.next())->time_since_epoch().count() % 64 == 0);
  CHECK(jid_time(second.next())->time_since_epoch().count() % 64 == 63);
  CHECK(all_different(in_turns(first, second, 1000)));
}

TEST_CASE("without a reserved range jids are unique in one process") {
  const JidReserve fails = [](std::int64_t, std::int64_t) { return std::nullopt; };
  JidSource source(system_clock(), fails);
  CHECK(all_different(many(source, 10'000)));
}

// SPDX-License-Identifier: MIT
#include "auth/guard_table.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../support/manual_clock.h"
#include "../support/temp_dir.h"

namespace rest_fcgi::auth {
namespace {

using std::chrono::seconds;

constexpr GuardTable::Limit kLimit{3, seconds(60), seconds(300)};
constexpr GuardTable::Limit kHigh{4000, seconds(60), seconds(300)};

/// A table in memory of its own, and a clock.
struct Table {
  GuardMemory memory = [] {
    auto made = GuardMemory::alone();
    REQUIRE(made);
    return *std::move(made);
  }();
  GuardTable table{memory.words().slots};
  test::ManualClock clock;

  unsigned add(GuardTable::Key key, const GuardTable::Limit& limit = kLimit) {
    return table.add(key, limit, clock.wall()).failures;
  }
  [[nodiscard]] GuardTable::Count find(GuardTable::Key key) const {
    return table.find(key, kLimit, clock.wall());
  }
};

/// Different keys that share their slots with key 0.
GuardTable::Key neighbour(std::uint64_t n) {
  return n << 37;
}

}  // namespace

TEST_CASE("failures are counted by key, and the one that reaches the limit refuses it") {
  Table t;
  CHECK(t.find(7).failures == 0);
  CHECK(t.add(7) == 1);
  CHECK(t.add(7) == 2);
  CHECK(t.find(7).refused_for == seconds(0));
  CHECK(t.add(7) == 3);
  CHECK(t.find(7).refused_for == seconds(300));
  CHECK(t.find(8).failures == 0);
}

TEST_CASE("a key that is refused is so for its time, whatever else fails, and is then forgotten") {
  Table t;
  for (int i = 0; i < 3; ++i) t.add(7);
  t.clock.advance(seconds(299));
  CHECK(t.add(7) == 3);
  CHECK(t.find(7).refused_for == seconds(1));
  t.clock.advance(seconds(1));
  CHECK(t.find(7).failures == 0);
  CHECK(t.add(7) == 1);
}

TEST_CASE("failures that did not reach the limit are forgotten after the window") {
  Table t;
  t.add(7);
  t.clock.advance(seconds(59));
  CHECK(t.add(7) == 2);
  t.clock.advance(seconds(1));
  CHECK(t.find(7).failures == 0);
  CHECK(t.add(7) == 1);
}

TEST_CASE("a key can be forgotten") {
  Table t;
  for (int i = 0; i < 3; ++i) t.add(7);
  t.table.forget(7);
  CHECK(t.find(7).failures == 0);
  t.table.forget(7);
  CHECK(t.add(7) == 1);
}

TEST_CASE("a clock that is set back a little changes nothing, one that is set back far forgets") {
  Table t;
  for (int i = 0; i < 3; ++i) t.add(7);
  t.clock.advance(seconds(-30));
  CHECK(t.find(7).refused_for == seconds(300));
  t.clock.advance(seconds(-3600));
  CHECK(t.find(7).failures == 0);
}

TEST_CASE("a flood of keys does not wash away the one that was tried most, nor one that is refused") {
  Table t;
  for (int i = 0; i < 2; ++i) t.add(neighbour(1));
  for (int i = 0; i < 3; ++i) t.add(neighbour(2));
  for (std::uint64_t n = 3; n < 1000; ++n) t.add(neighbour(n));
  CHECK(t.find(neighbour(1)).failures == 2);
  CHECK(t.find(neighbour(2)).refused_for > seconds(0));
  CHECK(t.find(neighbour(999)).failures == 1);
  CHECK(t.find(neighbour(3)).failures == 0);
}

TEST_CASE("an entry whose time is over makes room first") {
  Table t;
  for (std::uint64_t n = 1; n < GuardTable::kWays; ++n) t.add(neighbour(n));
  for (int i = 0; i < 2; ++i) t.add(neighbour(50));
  t.clock.advance(seconds(60));
  for (std::uint64_t n = 100; n < 100 + GuardTable::kWays; ++n) t.add(neighbour(n));
  for (std::uint64_t n = 100; n < 100 + GuardTable::kWays; ++n) CHECK(t.find(neighbour(n)).failures == 1);
}

TEST_CASE("a count has an end") {
  Table t;
  for (int i = 0; i < 5000; ++i) t.table.add(7, {10000, seconds(60), seconds(60)}, t.clock.wall());
  CHECK(t.find(7).failures == GuardTable::kMostFailures);
}

TEST_CASE("threads that count at once lose nothing") {
  Table t;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 500; ++n) t.add(7, kHigh);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(t.find(7).failures == 2000);
}

TEST_CASE("processes share one table, and one that is killed while it writes leaves it whole") {
  const test::TempDir dir;
  const std::string path = dir / "guard";
  const auto open = [&] {
    auto memory = GuardMemory::shared(path);
    REQUIRE(memory);
    return *std::move(memory);
  };
  const GuardMemory memory = open();
  GuardTable table(memory.words().slots);
  const test::ManualClock clock;
  const auto keep_adding = [&](GuardTable::Key key, int times) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    for (int n = 0; times < 0 || n < times; ++n) table.add(key, kHigh, clock.wall());
    ::_exit(0);
  };
  const pid_t endless = keep_adding(neighbour(1), -1);
  const pid_t bounded = keep_adding(neighbour(2), 500);
  for (int n = 0; n < 500; ++n) table.add(neighbour(2), kHigh, clock.wall());
  while (table.find(neighbour(1), kHigh, clock.wall()).failures == 0) std::this_thread::yield();
  REQUIRE(::kill(endless, SIGKILL) == 0);
  REQUIRE(::waitpid(endless, nullptr, 0) == endless);
  REQUIRE(::waitpid(bounded, nullptr, 0) == bounded);
  CHECK(table.find(neighbour(2), kHigh, clock.wall()).failures == 1000);
  CHECK(table.find(neighbour(1), kHigh, clock.wall()).failures > 0);
  const GuardMemory again = open();
  CHECK(again.hash_key() == memory.hash_key());
  CHECK(GuardTable(again.words().slots).find(neighbour(2), kHigh, clock.wall()).failures == 1000);
}

}  // namespace rest_fcgi::auth

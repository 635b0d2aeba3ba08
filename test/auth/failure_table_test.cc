// SPDX-License-Identifier: MIT
#include "auth/failure_table.h"

#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../support/eventually.h"
#include "../support/manual_clock.h"
#include "../support/temp_dir.h"
#include "auth/login_guard.h"

namespace rest_fcgi::auth {
namespace {

using std::chrono::seconds;

constexpr FailureTable::Limit kLimit{3, seconds(60), seconds(300)};

struct TableFixture {
  [[nodiscard]] std::shared_ptr<store::Store> open() const {
    return *store::Store::open({.path = dir / "state/state.db"});
  }
  FailureTable::Count add(const std::string& key) { return *table.add(key, kLimit); }
  FailureTable::Count find(const std::string& key) { return *table.find(key, kLimit); }

  test::TempDir dir;
  test::ManualClock clock;
  std::shared_ptr<store::Store> store = open();
  FailureTable table{store, clock};
};

std::int64_t number(store::Store& store, const char* sql) {
  std::int64_t found = -1;
  REQUIRE(store.read([&](store::Connection& from) -> Result<void> {
    found = (*from.number(sql)).value_or(-1);
    return {};
  }));
  return found;
}

}  // namespace

TEST_CASE("network_of gives one network for all spellings of an IPv4 address and for an IPv6 /64") {
  CHECK(network_of("192.0.2.7") == std::string("\xc0\x00\x02\x07", 4));
  for (const char* same : {"::ffff:192.0.2.7", "64:ff9b::c000:207"})
    CHECK(network_of(same) == network_of("192.0.2.7"));
  CHECK(network_of("192.0.2.8") != network_of("192.0.2.7"));
  CHECK(network_of("2001:db8:1:2::1") == network_of("2001:db8:1:2:ffff::2"));
  CHECK(network_of("2001:db8:1:2::1") != network_of("2001:db8:1:3::1"));
  for (const char* text : {"", "unix:", "192.0.2.7.8"}) CHECK(network_of(text) == text);
}

TEST_CASE("the failure that reaches the limit makes a key refused for its time") {
  TableFixture fixture;
  CHECK(fixture.find("a").failures == 0);
  CHECK(fixture.add("a").failures == 1);
  CHECK(fixture.add("a").refused_for == seconds(0));
  CHECK(fixture.find("b").failures == 0);
  CHECK(fixture.add("a").refused_for == seconds(300));
  fixture.clock.advance(seconds(100));
  CHECK(fixture.add("a").refused_for == seconds(200));  // a refused login does not count as a failure
  CHECK(fixture.find("a").failures == 3);
  fixture.clock.advance(seconds(200));
  CHECK(fixture.find("a").failures == 0);
  CHECK(fixture.add("a").failures == 1);
}

TEST_CASE("failures below the limit end after the window or with a reset") {
  TableFixture fixture;
  fixture.add("a");
  fixture.clock.advance(seconds(59));
  CHECK(fixture.add("a").failures == 2);
  fixture.clock.advance(seconds(1));
  CHECK(fixture.add("a").failures == 1);
  fixture.add("b");
  REQUIRE(fixture.table.reset("a"));
  CHECK(fixture.find("a").failures == 0);
  CHECK(fixture.find("b").failures == 1);
}

TEST_CASE("processes share the counts and resets, and counts survive a restart") {
  TableFixture fixture;
  FailureTable other(fixture.open(), fixture.clock);
  for (int i = 0; i < 2; ++i) fixture.add("a");
  CHECK(other.add("a", kLimit)->refused_for == seconds(300));
  CHECK(fixture.find("a").refused_for == seconds(300));
  CHECK(FailureTable(fixture.open(), fixture.clock).find("a", kLimit)->failures == 3);
  REQUIRE(other.reset("a"));
  CHECK(fixture.find("a").failures == 0);
}

TEST_CASE("a process knows its own failures at once and those of others within a second") {
  TableFixture fixture;
  FailureTable other(fixture.open(), fixture.clock);
  CHECK(fixture.table.is_quiet());
  fixture.add("a");
  CHECK_FALSE(fixture.table.is_quiet());
  CHECK(test::eventually([&] { return !other.is_quiet(); }));
  CHECK_FALSE(FailureTable(fixture.open(), fixture.clock).is_quiet());
  fixture.clock.advance(seconds(60));
  CHECK(fixture.table.is_quiet());
  CHECK(other.is_quiet());
}

TEST_CASE("expired rows are removed, and too many rows lose those that expire first") {
  TableFixture fixture;
  constexpr const char* kRows = "SELECT count(*) FROM login_failure";
  fixture.add("short");
  for (int i = 0; i < 3; ++i) fixture.add("long");
  fixture.clock.advance(seconds(60));
  CHECK(test::eventually([&] { return number(*fixture.store, kRows) == 1; }));
  const std::int64_t now = fixture.clock.wall().time_since_epoch().count();
  constexpr const char* kFill =
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100001)"
      " INSERT INTO login_failure SELECT 'key' || i, 1, ?1 + 1000000 + i FROM n";
  REQUIRE(fixture.store->execute(kFill, now));
  CHECK(test::eventually([&] { return number(*fixture.store, kRows) == 100'000; }));
  CHECK(fixture.find("long").failures == 3);
  CHECK(fixture.find("key1").failures == 0);
  CHECK(fixture.find("key100001").failures == 1);
}

TEST_CASE("concurrent counts are not lost") {
  TableFixture fixture;
  constexpr FailureTable::Limit kHigh{1000, seconds(60), seconds(60)};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) static_cast<void>(fixture.table.add("a", kHigh));
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(fixture.table.find("a", kHigh)->failures == 200);
}

}  // namespace rest_fcgi::auth

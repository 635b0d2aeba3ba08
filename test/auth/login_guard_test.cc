// SPDX-License-Identifier: MIT
#include "auth/login_guard.h"

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/eventually.h"
#include "../support/manual_clock.h"
#include "../support/temp_dir.h"
#include "auth/failure_table.h"

namespace rest_fcgi::auth {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const LoginGuard::Who kFred{"fred", "192.0.2.7"};
const LoginGuard::Who kFredElsewhere{"fred", "192.0.2.8"};
const LoginGuard::Who kAnn{"ann", "192.0.2.7"};

class GuardFixture {
 public:
  explicit GuardFixture(LoginGuardOptions options = {}) {
    guard.emplace(options, store, clock, [this](milliseconds time) {
      slept.push_back(time);
      clock.advance(time);
    });
  }

  bool fail(const LoginGuard::Who& who) {
    if (!guard->check(who)) return false;
    auto attempt = guard->begin(who);
    return attempt && attempt->failed();
  }
  void fail(const LoginGuard::Who& who, int times) {
    for (int i = 0; i < times; ++i) REQUIRE(fail(who));
  }

  bool refuses(const LoginGuard::Who& who) { return !guard->check(who); }

  test::ManualClock clock;
  std::vector<milliseconds> slept;
  const std::shared_ptr<store::Store> store = *store::Store::open({});
  std::optional<LoginGuard> guard;
};

TEST_CASE("a user is refused at an address after too many failures, for the named time, and nowhere else") {
  const test::CapturedLog log;
  GuardFixture fixture;
  fixture.fail(kFred, 10);
  const Error error = fixture.guard->check(kFred).error();
  CHECK(error.kind == ErrorKind::throttled);
  CHECK(error.retry_after > seconds(290));
  CHECK(log.has("login guard: user \"fred\" at \"192.0.2.7\": refused for 300 seconds"));
  for (const LoginGuard::Who& other : {kFredElsewhere, kAnn, {"fred", ""}})
    CHECK_FALSE(fixture.refuses(other));
  fixture.clock.advance(seconds(300));
  CHECK_FALSE(fixture.refuses(kFred));
}

TEST_CASE("an address that guesses at many users is delayed, and then refused altogether") {
  const test::CapturedLog log;
  GuardFixture fixture({.address_tries = 20});
  for (int i = 0; i < 20; ++i) fixture.fail({"user" + std::to_string(i), "192.0.2.7"}, 1);
  CHECK(fixture.slept.at(0) == milliseconds(100));
  CHECK(fixture.slept.at(7) == milliseconds(800));
  CHECK(fixture.refuses(kFred));
  CHECK_FALSE(fixture.refuses(kFredElsewhere));
  CHECK(log.has("login guard: all users at \"192.0.2.7\": refused for 300 seconds"));
}

TEST_CASE("each failure is answered later than the one before, up to two seconds, unless the guard is off") {
  GuardFixture fixture;
  fixture.fail(kFred, 7);
  const std::vector<milliseconds> expected{milliseconds(100), milliseconds(200),  milliseconds(400),
                                           milliseconds(800), milliseconds(1600), milliseconds(2000),
                                           milliseconds(2000)};
  CHECK(fixture.slept == expected);
  GuardFixture off({.tries = 0});
  off.fail(kFred, 50);
  CHECK_FALSE(off.refuses(kFred));
  CHECK(off.slept.empty());
}

TEST_CASE("the time of the check is part of the delay") {
  GuardFixture fixture;
  auto quick = *fixture.guard->begin(kFred);
  fixture.clock.advance(milliseconds(70));
  CHECK(quick.failed());
  auto slow = *fixture.guard->begin(kFred);
  fixture.clock.advance(milliseconds(900));
  CHECK(slow.failed());
  CHECK(fixture.slept == std::vector<milliseconds>{milliseconds(30)});
}

TEST_CASE("if too many threads wait, a failure is counted and refused at once") {
  GuardFixture fixture({.tries = 2, .max_delayed = 0});
  auto attempt = *fixture.guard->begin(kFred);
  const Error error = attempt.failed().error();
  CHECK(error.kind == ErrorKind::throttled);
  CHECK(error.retry_after == seconds(1));
  CHECK(fixture.slept.empty());
  CHECK_FALSE(fixture.fail(kFred));
  CHECK(fixture.refuses(kFred));
}

TEST_CASE("an attempt that would wait is refused at once if too many threads wait") {
  GuardFixture fixture({.tries = 1, .max_queued = 0});
  std::optional first = *fixture.guard->begin(kFred);
  CHECK(fixture.guard->begin(kFred).error().kind == ErrorKind::unavailable);
  CHECK(fixture.guard->begin(kFredElsewhere));
  first.reset();
  CHECK(fixture.guard->begin(kFred));
}

TEST_CASE("an attempt waits for its turn until its deadline") {
  GuardFixture fixture({.tries = 1});
  const SteadyTime now = fixture.clock.steady();
  std::optional first = *fixture.guard->begin(kFred, now);
  for (const SteadyTime deadline : {now - seconds(1), now, now + milliseconds(1)})
    CHECK(fixture.guard->begin(kFred, deadline).error().kind == ErrorKind::timeout);
  first.reset();
  CHECK(fixture.guard->begin(kFred, now));
}

TEST_CASE("logins leave threads free, more of them for tokens than for passwords") {
  using Share = LoginGuard::Share;
  for (const unsigned tries : {0U, 3U}) {
    GuardFixture fixture({.tries = tries, .threads = 10});
    std::vector<LoginGuard::Attempt> attempts;
    const auto begins = [&](const LoginGuard::Who& who) {
      auto attempt = fixture.guard->begin(who);
      if (attempt) attempts.push_back(*std::move(attempt));
      if (!attempt) CHECK(attempt.error().kind == ErrorKind::unavailable);
      return attempt.ok();
    };
    for (const char* name : {"a", "b", "c", "d", "e", "f"}) CHECK(begins({name, "192.0.2.7"}));
    CHECK(fixture.guard->keep_thread(Share::others_check));
    CHECK(begins(kFred));
    CHECK_FALSE(fixture.guard->keep_thread(Share::others_check));
    CHECK(begins(kAnn));
    CHECK_FALSE(begins({"g", "192.0.2.8"}));
    {
      const auto token = fixture.guard->keep_thread(Share::token);
      CHECK(token);
      CHECK_FALSE(fixture.guard->keep_thread(Share::token));
    }
    attempts.clear();
    CHECK(begins({"g", "192.0.2.8"}));
  }
}

TEST_CASE("concurrent logins have the same limit of failures as sequential logins") {
  GuardFixture fixture({.tries = 3, .max_delayed = 1000});
  std::atomic<int> looked_at = 0;
  std::vector<std::thread> threads;
  std::mutex mutex;  // Guards the fixture, which is not thread-safe.
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      auto attempt = fixture.guard->begin(kFred);
      if (!attempt) return;
      ++looked_at;
      std::this_thread::sleep_for(milliseconds(5));
      const std::lock_guard lock(mutex);
      static_cast<void>(attempt->failed().ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(looked_at == 3);
}

TEST_CASE("a good login resets only the failures of its user and address") {
  GuardFixture fixture({.address_tries = 19});
  const auto log_in = [&] {
    auto attempt = *fixture.guard->begin(kFred);
    attempt.succeeded();
  };
  fixture.fail(kFred, 9);
  log_in();
  fixture.fail(kFred, 9);
  CHECK_FALSE(fixture.refuses(kFred));
  fixture.fail(kAnn, 1);
  CHECK(fixture.refuses(kFred));
}

TEST_CASE("failures that cannot be counted are answered late with 503, and then no password is checked") {
  const test::CapturedLog log;
  GuardFixture fixture({.tries = 2});
  store::Store& store = *fixture.store;
  REQUIRE(store.execute(
      "CREATE TRIGGER full BEFORE INSERT ON login_failure BEGIN SELECT raise(ABORT, 'disk full'); END"));
  for (const LoginGuard::Who& who : {kFred, kAnn}) {
    auto attempt = *fixture.guard->begin(who);
    CHECK(attempt.failed().error().kind == ErrorKind::unavailable);
    CHECK(fixture.slept.back() == milliseconds(2000));
  }
  const auto third = fixture.guard->begin(kFredElsewhere);
  if (!store.is_writable()) CHECK(third.error().kind == ErrorKind::unavailable);
  REQUIRE(store.execute("DROP TRIGGER full"));
  CHECK(test::eventually([&] { return fixture.guard->begin(kFredElsewhere).ok(); }));
}

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

TEST_CASE("the failure that reaches the limit makes a key refused; fewer end after the window or a reset") {
  TableFixture fixture;
  CHECK(fixture.find("a").failures == 0);
  CHECK(fixture.add("a").failures == 1);
  CHECK(fixture.add("a").refused_for == seconds(0));
  CHECK(fixture.find("b").failures == 0);
  CHECK(fixture.add("a").refused_for == seconds(300));
  fixture.clock.advance(seconds(100));
  CHECK(fixture.add("a").refused_for == seconds(200));  // A refused login does not count as a failure.
  CHECK(fixture.find("a").failures == 3);
  fixture.clock.advance(seconds(200));
  CHECK(fixture.find("a").failures == 0);
  CHECK(fixture.add("a").failures == 1);
  fixture.add("c");
  fixture.clock.advance(seconds(59));
  CHECK(fixture.add("c").failures == 2);
  fixture.clock.advance(seconds(1));
  CHECK(fixture.add("c").failures == 1);
  fixture.add("d");
  REQUIRE(fixture.table.reset("c"));
  CHECK(fixture.find("c").failures == 0);
  CHECK(fixture.find("d").failures == 1);
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
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100001) INSERT INTO "
      "login_failure SELECT 'key' || i, 1, ?1 + 1000000 + i FROM n";
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

}  // namespace
}  // namespace rest_fcgi::auth

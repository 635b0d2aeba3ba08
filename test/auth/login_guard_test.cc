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

namespace rest_fcgi::auth {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const LoginGuard::Who kFred{"fred", "192.0.2.7"};
const LoginGuard::Who kFredElsewhere{"fred", "192.0.2.8"};
const LoginGuard::Who kAnn{"ann", "192.0.2.7"};

/// A login guard with a manual clock. The fixture records the sleeps of the guard instead of sleeping.
class GuardFixture {
 public:
  explicit GuardFixture(LoginGuardOptions options = {}) {
    guard.emplace(options, store, clock, [this](milliseconds time) {
      slept.push_back(time);
      clock.advance(time);
    });
  }

  /// Makes one login fail. Returns false if the guard refuses the login before the password check.
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

}  // namespace

TEST_CASE("a user is refused at an address after too many failures, until the time that the error names") {
  const test::CapturedLog log;
  GuardFixture fixture;
  fixture.fail(kFred, 10);
  const auto open = fixture.guard->check(kFred);
  REQUIRE_FALSE(open);
  CHECK(open.error().kind == ErrorKind::throttled);
  CHECK(open.error().retry_after > seconds(290));
  CHECK(log.has("login guard: user \"fred\" at \"192.0.2.7\": refused for 300 seconds"));
  fixture.clock.advance(seconds(300));
  CHECK_FALSE(fixture.refuses(kFred));
}

TEST_CASE("failures of one pair lock out neither the user elsewhere nor other users at the address") {
  GuardFixture fixture;
  fixture.fail(kFred, 10);
  CHECK(fixture.refuses(kFred));
  CHECK_FALSE(fixture.refuses(kFredElsewhere));
  CHECK_FALSE(fixture.refuses(kAnn));
  CHECK_FALSE(fixture.refuses({"fred", ""}));
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

TEST_CASE("each failure is answered later than the one before, up to two seconds") {
  GuardFixture fixture;
  fixture.fail(kFred, 7);
  const std::vector<milliseconds> expected{milliseconds(100), milliseconds(200),  milliseconds(400),
                                           milliseconds(800), milliseconds(1600), milliseconds(2000),
                                           milliseconds(2000)};
  CHECK(fixture.slept == expected);
}

TEST_CASE("the time of the check is part of the delay") {
  GuardFixture fixture;
  auto quick = fixture.guard->begin(kFred);
  REQUIRE(quick);
  fixture.clock.advance(milliseconds(70));
  CHECK(quick->failed());
  auto slow = fixture.guard->begin(kFred);
  REQUIRE(slow);
  fixture.clock.advance(milliseconds(900));
  CHECK(slow->failed());
  CHECK(fixture.slept == std::vector<milliseconds>{milliseconds(30)});
}

TEST_CASE("if too many threads wait, a failure is counted and refused at once") {
  GuardFixture fixture({.tries = 2, .max_delayed = 0});
  auto attempt = fixture.guard->begin(kFred);
  REQUIRE(attempt);
  const auto counted = attempt->failed();
  REQUIRE_FALSE(counted);
  CHECK(counted.error().kind == ErrorKind::throttled);
  CHECK(counted.error().retry_after == seconds(1));
  CHECK(fixture.slept.empty());
  CHECK_FALSE(fixture.fail(kFred));
  CHECK(fixture.refuses(kFred));
}

TEST_CASE("an attempt that would wait is refused at once if too many threads wait") {
  GuardFixture fixture({.tries = 1, .max_queued = 0});
  {
    const auto first = fixture.guard->begin(kFred);
    REQUIRE(first);
    const auto second = fixture.guard->begin(kFred);
    REQUIRE_FALSE(second);
    CHECK(second.error().kind == ErrorKind::unavailable);
    CHECK(fixture.guard->begin(kFredElsewhere));
  }
  CHECK(fixture.guard->begin(kFred));
}

TEST_CASE("an attempt waits for its turn until its deadline") {
  GuardFixture fixture({.tries = 1});
  const SteadyTime now = fixture.clock.steady();
  {
    const auto first = fixture.guard->begin(kFred, now);
    REQUIRE(first);
    for (const SteadyTime deadline : {now - seconds(1), now, now + milliseconds(1)}) {
      const auto second = fixture.guard->begin(kFred, deadline);
      REQUIRE_FALSE(second);
      CHECK(second.error().kind == ErrorKind::timeout);
    }
  }
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

TEST_CASE("a guard that is off neither refuses nor delays") {
  GuardFixture fixture({.tries = 0});
  fixture.fail(kFred, 50);
  CHECK_FALSE(fixture.refuses(kFred));
  CHECK(fixture.slept.empty());
}

TEST_CASE("a good login resets only the failures of its user and address") {
  GuardFixture fixture({.address_tries = 19});
  const auto log_in = [&] {
    auto attempt = fixture.guard->begin(kFred);
    REQUIRE(attempt);
    attempt->succeeded();
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
    auto attempt = fixture.guard->begin(who);
    REQUIRE(attempt);
    CHECK(attempt->failed().error().kind == ErrorKind::unavailable);
    CHECK(fixture.slept.back() == milliseconds(2000));
  }
  const auto third = fixture.guard->begin(kFredElsewhere);
  if (!store.is_writable()) CHECK(third.error().kind == ErrorKind::unavailable);
  REQUIRE(store.execute("DROP TRIGGER full"));
  CHECK(test::eventually([&] { return fixture.guard->begin(kFredElsewhere).ok(); }));
}

}  // namespace rest_fcgi::auth

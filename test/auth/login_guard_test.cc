// SPDX-License-Identifier: MIT
#include "auth/login_guard.h"

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/manual_clock.h"
#include "../support/soon.h"
#include "../support/temp_dir.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::auth {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const LoginGuard::Who kFred{"fred", "192.0.2.7"};
const LoginGuard::Who kFredElsewhere{"fred", "192.0.2.8"};
const LoginGuard::Who kAnn{"ann", "192.0.2.7"};
const LoginGuard::Who kWithToken{"", "192.0.2.7"};

std::shared_ptr<store::Store> open_store(const std::string& path = {}) {
  auto opened = store::Store::open({.path = path});
  REQUIRE(opened);
  return *std::move(opened);
}

/// A guard that writes down how long it would sleep.
class GuardFixture {
 public:
  explicit GuardFixture(LoginGuardOptions options = {},
                        const std::shared_ptr<store::Store>& store = open_store()) {
    guard.emplace(options, store, clock, [this](milliseconds time) {
      slept.push_back(time);
      if (sleep_takes_time) clock.advance(time);
    });
  }

  /// One login that fails; false where it was not looked at.
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
  bool sleep_takes_time = true;
  std::optional<LoginGuard> guard;
};

}  // namespace

TEST_CASE("after too many failures a user is refused at that address, and told when to come again") {
  const test::CapturedLog log;
  GuardFixture fixture;
  fixture.fail(kFred, 10);
  const auto open = fixture.guard->check(kFred);
  REQUIRE_FALSE(open);
  CHECK(open.error().kind == ErrorKind::throttled);
  CHECK(open.error().retry_after > seconds(290));
  CHECK(open.error().message.starts_with("Too many failed logins; the next one is looked at in "));
  CHECK(log.has("login guard: user \"fred\" at \"192.0.2.7\": refused for 300 seconds"));
  fixture.clock.advance(seconds(300));
  CHECK_FALSE(fixture.refuses(kFred));
}

TEST_CASE("nobody can lock a user out from elsewhere, nor another user at the same address") {
  GuardFixture fixture;
  fixture.fail(kFred, 10);
  CHECK(fixture.refuses(kFred));
  CHECK_FALSE(fixture.refuses(kFredElsewhere));
  CHECK_FALSE(fixture.refuses(kAnn));
  CHECK_FALSE(fixture.refuses(kWithToken));
  CHECK_FALSE(fixture.refuses({"fred", ""}));
}

TEST_CASE("who goes from user to user is refused at that address altogether") {
  const test::CapturedLog log;
  GuardFixture fixture({.address_tries = 20});
  for (int i = 0; i < 20; ++i) fixture.fail({"user" + std::to_string(i), "192.0.2.7"}, 1);
  CHECK(fixture.refuses(kFred));
  CHECK_FALSE(fixture.refuses(kFredElsewhere));
  CHECK(log.has("login guard: everybody at \"192.0.2.7\": refused for 300 seconds"));
}

TEST_CASE("tokens that fail are counted by address, and refused at the limit; one that is good never is") {
  const test::CapturedLog log;
  GuardFixture fixture({.address_tries = 20});
  fixture.fail(kWithToken, 20);
  CHECK(log.has("login guard: tokens at \"192.0.2.7\": refused"));
  CHECK(fixture.slept.back() == milliseconds(2000));
  fixture.slept.clear();
  for (int i = 0; i < 3; ++i) {
    REQUIRE(fixture.guard->check(kWithToken));
    auto attempt = fixture.guard->begin(kWithToken);
    REQUIRE(attempt);  // by now it is good, or fails
    const auto failed = attempt->failed();
    REQUIRE_FALSE(failed);
    CHECK(failed.error().kind == ErrorKind::throttled);
    CHECK(failed.error().retry_after > seconds(200));
  }
  CHECK(fixture.slept.empty());
  CHECK(fixture.fail({"", "192.0.2.8"}));
  CHECK_FALSE(fixture.refuses(kFred));
  auto ended = fixture.guard->begin(kWithToken);
  REQUIRE(ended);
  CHECK(ended->failed(false));  // is no guess
}

TEST_CASE("a good login forgets the failures of its user at its address, and no others") {
  GuardFixture fixture({.address_tries = 19});
  fixture.fail(kFred, 9);
  fixture.fail(kAnn, 9);
  fixture.guard->reset(kFred);
  fixture.fail(kFred, 1);
  CHECK_FALSE(fixture.refuses({"fred", "192.0.2.9"}));
  CHECK(fixture.refuses(kAnn));
}

TEST_CASE("networks of one IPv6 site are refused together when four of them could have been") {
  const test::CapturedLog log;
  GuardFixture fixture({.address_tries = 20});
  fixture.sleep_takes_time = false;
  int looked_at = 0;
  std::string last;
  for (int n = 0; n < 65536; n += n < 256 ? 1 : 64) {
    last = format("2001:db8:1:{:x}::1", n);
    looked_at += fixture.fail({format("user{}", n), last}) ? 1 : 0;
  }
  CHECK(looked_at == 80);
  CHECK(fixture.refuses({"fred", "2001:db8:1:ffff::2"}));
  CHECK_FALSE(fixture.refuses({"fred", "2001:db8:2::1"}));
  CHECK(log.has("login guard: everybody in the /48 of \"2001:db8:1:4f::1\": refused for 300 seconds"));
}

TEST_CASE("who logged in lately is not refused for what others do at the same address") {
  const test::CapturedLog log;
  GuardFixture fixture;
  fixture.sleep_takes_time = false;
  const auto user = [](int n) { return format("user{}", n); };
  const auto log_in = [&](const LoginGuard::Who& who) {
    auto attempt = fixture.guard->begin(who);
    REQUIRE(attempt);
    attempt->succeeded();
  };
  for (int n = 0; n < 99; ++n) log_in({user(n), "192.0.2.7"});
  int looked_at = 0;
  for (int n = 1000; n < 2000; ++n) looked_at += fixture.fail({user(n), "192.0.2.7"}) ? 1 : 0;
  CHECK(looked_at == 100);
  CHECK(fixture.refuses({user(1000), "192.0.2.7"}));
  CHECK(fixture.refuses({user(2000), "192.0.2.7"}));  // never logged in from there
  for (int n = 0; n < 99; ++n) {
    CHECK_FALSE(fixture.refuses({user(n), "192.0.2.7"}));
    CHECK(fixture.guard->begin({user(n), "192.0.2.7"}));
  }
  for (int i = 0; i < 10; ++i) CHECK_FALSE(fixture.fail({user(5), "192.0.2.7"}));  // reads as refused, too
  CHECK(fixture.refuses({user(5), "192.0.2.7"}));
  CHECK_FALSE(fixture.refuses({user(6), "192.0.2.7"}));
}

TEST_CASE("a failure does not tell who logged in from that address before, nor does one after the refusal") {
  const test::CapturedLog log;
  const auto answers_to = [](const LoginGuard::Who& who) {
    GuardFixture fixture({.address_tries = 20, .refuse = seconds(30)});
    {
      auto attempt = fixture.guard->begin(kFred);
      REQUIRE(attempt);
      attempt->succeeded();
    }
    std::vector<std::string> answers;
    for (int i = 0; i < 25; ++i) {
      const SteadyTime since = fixture.clock.steady();
      fixture.fail({format("user{}", i), kFred.remote});  // as often as that is looked at
      const SteadyTime asked = fixture.clock.steady();
      if (i > 0 && i < 9) {
        fixture.fail({format("other{}", i), kFred.remote});
      } else if (auto open = fixture.guard->check(who)) {
        auto tried = fixture.guard->begin(who);
        REQUIRE(tried);
        fixture.clock.advance(milliseconds(50));  // what a hash takes
        const auto failed = tried->failed();
        answers.push_back(failed ? "refused" : failed.error().message);
      } else {
        answers.push_back(open.error().message);
      }
      if (i == 0 || i >= 9)
        answers.back() += format(" {}", (fixture.clock.steady() - asked) / milliseconds(1));
      fixture.clock.advance(
          std::chrono::duration_cast<milliseconds>(since + seconds(10) - fixture.clock.steady()));
    }
    return answers;
  };
  const std::vector<std::string> of_known = answers_to(kFred);
  CHECK(of_known.front() == "refused 100");
  CHECK(of_known.back().starts_with("Too many failed logins; the next one is looked at in "));
  const std::vector<std::string> of_ann = answers_to(kAnn);
  for (std::size_t i = 0; i < of_ann.size(); ++i) CHECK(of_known[i] == of_ann[i]);
}

TEST_CASE("a user is known for a week, at that address alone") {
  const test::CapturedLog log;
  GuardFixture fixture({.address_tries = 2, .refuse = seconds(1000)});
  {
    auto attempt = fixture.guard->begin(kFred);
    REQUIRE(attempt);
    attempt->succeeded();
  }
  const auto lock_out = [&](std::string_view remote) {
    for (const std::string_view name : {"x", "y"}) fixture.fail({name, remote}, 1);
  };
  lock_out(kFred.remote);
  lock_out(kFredElsewhere.remote);
  CHECK_FALSE(fixture.refuses(kFred));
  CHECK(fixture.refuses(kFredElsewhere));
  fixture.clock.advance(std::chrono::hours(7 * 24) - seconds(100));
  lock_out(kFred.remote);
  CHECK_FALSE(fixture.refuses(kFred));
  fixture.clock.advance(seconds(100));
  CHECK(fixture.refuses(kFred));
}

TEST_CASE("a failure is answered the later the more there were, up to two seconds") {
  GuardFixture fixture;
  fixture.fail(kFred, 7);
  const std::vector<milliseconds> expected{milliseconds(100), milliseconds(200),  milliseconds(400),
                                           milliseconds(800), milliseconds(1600), milliseconds(2000),
                                           milliseconds(2000)};
  CHECK(fixture.slept == expected);
}

TEST_CASE("the time that the check itself took is part of the wait") {
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

TEST_CASE("who goes from user to user is slowed, too") {
  GuardFixture fixture({.address_tries = 20});
  for (int i = 0; i < 8; ++i) fixture.fail({"user" + std::to_string(i), "192.0.2.7"}, 1);
  CHECK(fixture.slept.front() == milliseconds(100));
  CHECK(fixture.slept.back() == milliseconds(800));
}

TEST_CASE("where too many wait already, a failure is refused at once, and counted") {
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

TEST_CASE("who is refused with all others of an address leaves half of the threads that may wait to others") {
  const test::CapturedLog log;
  for (const std::size_t may_wait : {1U, 2U}) {
    GuardFixture fixture({.address_tries = 1, .max_delayed = may_wait});
    fixture.fail({"x", kFred.remote}, 1);
    fixture.slept.clear();
    CHECK(fixture.refuses(kFred));
    CHECK(fixture.slept.size() == may_wait / 2);
    CHECK(fixture.fail(kFredElsewhere));
  }
}

TEST_CASE("over all processes four refusals of addresses a second wait, whoever logged in there before") {
  const test::CapturedLog log;
  const test::TempDir dir;
  const std::string path = dir / "state/state.db";
  GuardFixture one({.address_tries = 1}, open_store(path));
  GuardFixture other({.address_tries = 1}, open_store(path));
  for (GuardFixture* process : {&one, &other}) process->sleep_takes_time = false;
  {
    auto attempt = one.guard->begin(kFred);
    REQUIRE(attempt);
    attempt->succeeded();
  }
  one.fail({"x", kFred.remote}, 1);
  one.slept.clear();
  const auto waits = [](GuardFixture& process, const LoginGuard::Who& who) {
    const std::size_t before = process.slept.size();
    CHECK_FALSE(process.fail(who));
    return process.slept.size() > before;
  };
  for (int second = 0; second < 2; ++second) {
    CHECK(waits(one, kAnn));
    CHECK(waits(other, kAnn));
    CHECK(waits(other, kFred));
    CHECK(waits(one, kFred));
    for (GuardFixture* process : {&one, &other}) {
      CHECK_FALSE(waits(*process, kAnn));
      CHECK_FALSE(waits(*process, kFred));
    }
    CHECK(other.fail(LoginGuard::Who{"ann", second == 0 ? "192.0.2.100" : "192.0.2.101"}));
    one.clock.advance(seconds(1));
    other.clock.advance(seconds(1));
  }
}

TEST_CASE("who would have to wait for their turn where too many wait already is told so at once") {
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

TEST_CASE("who would have to wait for their turn does so until their deadline") {
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

TEST_CASE("whoever waits for others' tries is no failure, and takes no place from those that are") {
  GuardFixture fixture({.tries = 1, .max_delayed = 1, .max_queued = 2});
  std::vector<std::thread> threads;
  std::atomic<int> in_time = 0;
  {
    auto first = fixture.guard->begin(kFred);
    REQUIRE(first);
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] { in_time += fixture.guard->begin(kFred) ? 1 : 0; });
    }
    CHECK(fixture.fail(kAnn));
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(in_time == 2);
}

TEST_CASE("tokens wait for no turn, and those that fail at the same time are all counted") {
  const test::CapturedLog log;
  GuardFixture fixture({.address_tries = 3, .max_queued = 0});
  CHECK(fixture.fail(kWithToken));
  std::vector<LoginGuard::Attempt> attempts;
  for (int i = 0; i < 5; ++i) {
    auto attempt = fixture.guard->begin(kWithToken);
    REQUIRE(attempt);
    attempts.push_back(*std::move(attempt));
  }
  for (std::size_t i = 0; i < 2; ++i) CHECK(attempts[i].failed());
  CHECK_FALSE(attempts[2].failed());
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
    CHECK(begins(kWithToken));  // looked at here, at once
    CHECK(attempts.back().failed().ok() == (tries == 0));
    CHECK(fixture.slept.empty());
    attempts.clear();
    CHECK(begins({"g", "192.0.2.8"}));
  }
}

TEST_CASE("where there are few threads logins may have all of them") {
  GuardFixture fixture({.threads = 4});
  std::vector<LoginGuard::Attempt> attempts;
  for (const char* name : {"a", "b", "c", "d"}) {
    auto attempt = fixture.guard->begin({name, "192.0.2.7"});
    REQUIRE(attempt);
    attempts.push_back(*std::move(attempt));
  }
  for (auto& attempt : attempts) CHECK(attempt.failed());
}

TEST_CASE("many tries at once get no further than one after the other") {
  GuardFixture fixture({.tries = 3, .max_delayed = 1000});
  std::atomic<int> looked_at = 0;
  std::vector<std::thread> threads;
  std::mutex mutex;  // the fixture's clock and list are for one thread
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

TEST_CASE("a guard that is off refuses nobody and lets nobody wait") {
  GuardFixture fixture({.tries = 0});
  fixture.fail(kFred, 50);
  fixture.guard->reset(kFred);
  CHECK_FALSE(fixture.refuses(kFred));
  CHECK(fixture.slept.empty());
}

TEST_CASE("guards of one store share their counts, and a good login resets them for all") {
  const test::TempDir dir;
  const test::ManualClock clock;
  const std::string path = dir / "state/state.db";
  const auto sleep = [](milliseconds) {};
  LoginGuard one({.tries = 2}, open_store(path), clock, sleep);
  LoginGuard other({.tries = 2}, open_store(path), clock, sleep);
  for (LoginGuard* guard : {&one, &other}) {
    auto attempt = guard->begin(kFred);
    REQUIRE(attempt);
    CHECK(attempt->failed());
  }
  CHECK_FALSE(one.check(kFred));
  CHECK_FALSE(other.check(kFred));
  CHECK_FALSE(LoginGuard({.tries = 2}, open_store(path), clock, sleep).begin(kFred));
  other.reset(kFred);
  CHECK(one.check(kFred));
  CHECK(one.begin(kFred));
}

TEST_CASE("a good login writes nothing but once that its pair is known, and clears a failure") {
  test::ManualClock clock;
  const auto store = open_store();
  LoginGuard guard({}, store, clock, [](milliseconds) {});
  const auto log_in = [&](bool is_good) {
    auto attempt = guard.begin(kFred);
    REQUIRE(attempt);
    if (is_good) {
      attempt->succeeded();
    } else {
      CHECK(attempt->failed());
    }
  };
  const auto changes = [&] {
    std::int64_t count = 0;
    REQUIRE(store->read([&](store::Connection& from) -> Result<void> {
      count = (*from.number("SELECT total_changes()")).value_or(0);
      return {};
    }));
    return count;
  };
  log_in(true);
  const std::int64_t before = changes();
  log_in(true);
  CHECK(changes() == before);
  log_in(false);
  CHECK(guard.check(kFred)->has_failed);
  log_in(true);
  CHECK_FALSE(guard.check(kFred)->has_failed);
}

TEST_CASE("while failures cannot be counted they are answered late with 503, and then no password is tried") {
  const test::CapturedLog log;
  const auto store = open_store();
  GuardFixture fixture({.tries = 2}, store);
  REQUIRE(store->execute(
      "CREATE TRIGGER full BEFORE INSERT ON login_failure BEGIN SELECT raise(ABORT, 'disk full'); END"));
  for (const LoginGuard::Who& who : {kFred, kAnn}) {
    auto attempt = fixture.guard->begin(who);
    REQUIRE(attempt);
    CHECK(attempt->failed().error().kind == ErrorKind::unavailable);
    CHECK(fixture.slept.back() == milliseconds(2000));
  }
  const auto third = fixture.guard->begin(kFredElsewhere);
  // The store tries by itself whether it can be written, and finds that it can.
  if (!store->is_writable()) CHECK(third.error().kind == ErrorKind::unavailable);
  CHECK(fixture.guard->begin(kWithToken));
  REQUIRE(store->execute("DROP TRIGGER full"));
  CHECK(test::holds_soon([&] { return fixture.guard->begin(kFredElsewhere).ok(); }));
}

}  // namespace rest_fcgi::auth

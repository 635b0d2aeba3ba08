// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/logins.h"

#include <future>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/door.h"
#include "../support/eventually.h"
#include "logins_fixture.h"

namespace rest_fcgi::auth {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr std::string_view kToken = "0123456789abcdef0123456789abcdef";
constexpr std::string_view kOtherToken = "fedcba9876543210fedcba9876543210";

/// Checks that the login is refused without a check by the back end, and that the log has `cause`.
void refuses(LoginsFixture& logins, const Credentials& credentials, std::string_view cause) {
  CAPTURE(cause);
  const test::CapturedLog log;
  const Error refused = logins.login(credentials).error();
  CHECK(refused.kind == ErrorKind::authentication);
  CHECK(refused.message == "Authorization error occurred.");
  CAPTURE(log.text());
  CHECK(log.has(cause));
  CHECK_FALSE(log.has("canary"));
  CHECK(logins.asked == 0);
}

}  // namespace

TEST_CASE("logins with a password are counted by their result") {
  using What = LoginCounts::What;
  LoginsFixture logins({.tries = 1});
  CHECK(logins.login(with_password("ann", "sesame")));
  CHECK(logins.login(with_password("ann", "sesame")));  // The grant of the first login is remembered.
  CHECK(logins.login(with_token(kToken)));
  CHECK_FALSE(logins.login(with_password("bob", "wrong")));
  CHECK_FALSE(logins.login_anew(with_password("bob", "sesame")));  // The login guard refuses bob.
  logins.answer = [](const Credentials&) { return Error{ErrorKind::unavailable, "no answer"}; };
  CHECK_FALSE(logins.login(with_password("cid", "sesame")));
  CHECK(logins.counts->count(What::accepted) == 2);
  CHECK(logins.counts->count(What::refused) == 1);
  CHECK(logins.counts->count(What::throttled) == 1);
  CHECK(logins.counts->count(What::failed) == 1);
}

TEST_CASE("salt-api#151: good credentials are checked once, and remembered for the ttl") {
  LoginsFixture logins;
  const auto first = *logins.login(with_password("fred", "sesame"));
  CHECK(first->name == "fred");
  CHECK(first->token.reveal().text == "token 1");
  logins.clock.advance(seconds(29));
  const auto second = *logins.login(with_password("fred", "sesame"));
  CHECK(second == first);
  CHECK(logins.asked == 1);
  logins.clock.advance(seconds(1));
  REQUIRE(logins.login(with_password("fred", "sesame")));
  CHECK(logins.asked == 2);
}

TEST_CASE("a grant is remembered until its own bound, but not after its token expires") {
  LoginsFixture logins({.tries = 0}, seconds(300));
  SUBCASE("its own bound") {
    logins.keep = seconds(5);
  }
  SUBCASE("the token") {
    logins.lasts = seconds(5);
  }
  REQUIRE(logins.login(with_password("fred", "sesame")));
  logins.clock.advance(seconds(4));
  REQUIRE(logins.login(with_password("fred", "sesame")));
  CHECK(logins.asked == 1);
  logins.clock.advance(seconds(1));
  REQUIRE(logins.login(with_password("fred", "sesame")));
  CHECK(logins.asked == 2);
}

TEST_CASE("a request that began before a check ended uses its grant, until the deadline of the check") {
  LoginsFixture logins({.tries = 0}, seconds(0));
  Credentials fred = with_password("fred", "sesame");
  fred.request_start = logins.clock.steady();
  logins.clock.advance(seconds(1));
  const SteadyTime end = logins.clock.steady() + seconds(20);
  const auto first = *logins.login(fred, end);
  logins.clock.advance(seconds(19));
  CHECK(*logins.login(fred, end) == first);
  CHECK(*logins.login(fred, end + seconds(10)) == first);
  CHECK(logins.asked == 1);

  Credentials later = fred;
  later.request_start = logins.clock.steady();
  CHECK(*logins.login(later, end) != first);
  CHECK(logins.login(with_password("fred", "sesame"), end));
  CHECK(logins.asked == 3);

  logins.clock.advance(seconds(1));
  CHECK(logins.login(fred, end + seconds(10)));
  CHECK(logins.asked == 4);
}

TEST_CASE("a grant that was remembered for one stamp is not used for another") {
  LoginsFixture logins;
  const auto login = [&](std::string_view stamp) {
    return logins.login(with_password("fred", "sesame"), logins.clock.steady() + hours(1), stamp);
  };
  REQUIRE(login("a"));
  REQUIRE(login("a"));
  CHECK(logins.asked == 1);
  logins.answer = [](const Credentials&) { return Error{ErrorKind::authentication, "not any more"}; };
  CHECK(login("b").error().kind == ErrorKind::authentication);
  CHECK(login("").error().kind == ErrorKind::authentication);
  CHECK(logins.asked == 3);
}

TEST_CASE("one of many threads checks the same credentials, and others wait until their own deadlines") {
  LoginsFixture logins({.tries = 0}, seconds(0));
  test::Door door;
  logins.answer = [&](const Credentials&) {
    door.pass();
    return std::nullopt;
  };
  Credentials fred = with_password("fred", "sesame");
  fred.request_start = logins.clock.steady();
  const SteadyTime end = logins.clock.steady() + hours(1);
  std::vector<std::future<Result<std::shared_ptr<const Grant>>>> threads;
  for (int i = 0; i < 4; ++i) {
    threads.push_back(std::async(std::launch::async, [&] { return logins.login(fred, end); }));
  }
  CHECK(door.waiting(1) == 1);
  CHECK(logins.login(fred, logins.clock.steady()).error().kind == ErrorKind::timeout);
  door.open();
  for (auto& thread : threads) CHECK(thread.get());
  CHECK(logins.login(fred, end));
  CHECK(logins.asked == 1);
  CHECK(logins.login(with_password("fred", "sesame")));
  CHECK(logins.asked == 2);
}

TEST_CASE("threads that wait for the check of a wrong password are refused, and it counts once") {
  LoginsFixture logins({.tries = 2, .threads = 10});
  test::Door door;
  logins.answer = [&](const Credentials&) {
    door.pass();
    return Error{ErrorKind::authentication, "not good"};
  };
  const Credentials wrong = with_password("fred", "wrong");
  const SteadyTime end = logins.clock.steady() + hours(1);
  std::vector<std::future<Result<std::shared_ptr<const Grant>>>> threads;
  for (int i = 0; i < 7; ++i) {
    threads.push_back(std::async(std::launch::async, [&] {
      while (true) {
        auto outcome = logins.login(wrong, end);
        // Another login of the test may wait for the check at this moment. The login of this thread is then
        // refused, and tried again.
        if (outcome || outcome.error().kind != ErrorKind::unavailable) return outcome;
      }
    }));
  }
  CHECK(door.waiting(1) == 1);
  // At most six threads may wait for the check. The seventh is refused.
  CHECK(test::eventually(
      [&] { return logins.login(wrong, logins.clock.steady()).error().kind == ErrorKind::unavailable; }));
  door.open();
  for (auto& thread : threads) CHECK(thread.get().error().kind == ErrorKind::authentication);
  CHECK(logins.asked == 1);
  logins.answer = nullptr;
  CHECK(logins.login(with_password("fred", "sesame")));
}

TEST_CASE("CVE-2016-9639: a grant is for one back end, one user and one password") {
  LoginsFixture logins;
  logins.answer = [](const Credentials&) { return std::nullopt; };
  REQUIRE(logins.login(with_password("fred", "sesame")));
  REQUIRE(logins.login(with_password("fred", "sesame2")));
  REQUIRE(logins.login(with_password("freds", "esame")));
  REQUIRE(logins.login(with_password("fred", "sesame", "ldap")));
  CHECK(logins.asked == 4);
}

TEST_CASE("a refusal is never remembered, has the usual text, and its cause is only in the log") {
  LoginsFixture logins;
  const test::CapturedLog log;
  for (int i = 1; i <= 2; ++i) {
    const Error refused = logins.login(with_password("fred", "canary")).error();
    CHECK(refused.kind == ErrorKind::authentication);
    CHECK(refused.message == "Authorization error occurred.");
    CHECK(logins.asked == i);
  }
  CHECK(log.has("authentication refused at verification: not good; eauth \"pam\", user \"fred\""));
  CHECK_FALSE(log.has("canary"));
}

TEST_CASE("malformed credentials are refused without a check") {
  LoginsFixture logins;
  const std::string name(257, 'n');
  const std::string password(1025, 'p');
  const std::string eauth(65, 'e');
  refuses(logins, {}, "there are no credentials");
  refuses(logins, with_password("", "canary"), "the user name is empty");
  refuses(logins, with_password(name, "canary"), "the user name is longer than 256 bytes");
  refuses(logins, with_password("fred", password), "the password is longer than 1024 bytes");
  refuses(logins, with_password({"fr\0ed", 5}, "canary"), "the user name contains a NUL");
  refuses(logins, with_password("fred", {"can\0ary", 7}), "the password contains a NUL");
  refuses(logins, with_password("fred", "canary", ""), "the name of the back end is empty");
  refuses(logins, with_password("fred", "canary", eauth), "the name of the back end is longer than 64 bytes");
  refuses(logins, with_password("fred", "canary", {"p\0m", 3}), "the name of the back end contains a NUL");
  const std::string digits(129, 'a');
  for (const std::string_view token : {std::string_view(), kToken.substr(1), std::string_view(digits),
                                       std::string_view("../../canary/0123456789abcdef0123456789")}) {
    refuses(logins, with_token(token), "expected 32 to 128 hexadecimal digits");
  }
}

TEST_CASE("a token is checked once for a while, is never counted as a guess, and is not a password") {
  const test::CapturedLog log;
  LoginsFixture logins({.tries = 1, .address_tries = 1});
  REQUIRE(logins.login(with_token(kToken)));
  REQUIRE(logins.login(with_token(kToken)));
  CHECK(logins.asked == 1);
  REQUIRE(logins.login(with_token(std::string(128, 'F'))));
  CHECK(logins.asked == 2);
  logins.answer = [](const Credentials&) { return Error{ErrorKind::authentication, "it has expired"}; };
  for (int i = 0; i < 3; ++i) {
    CHECK(logins.login(with_token(kOtherToken)).error().message == "Authorization error occurred.");
  }
  CHECK(log.has("authentication refused at token: it has expired"));
  CHECK_FALSE(log.has(kOtherToken));
  logins.answer = [](const Credentials&) { return std::nullopt; };
  REQUIRE(logins.login(with_token(kOtherToken)));
  REQUIRE(logins.login(with_password("fred", kToken)));
  CHECK(logins.asked == 7);
}

TEST_CASE("a guesser is refused without a check, even with a remembered password") {
  LoginsFixture logins({.tries = 2});
  const test::CapturedLog log;
  Credentials owner = with_password("fred", "sesame");
  owner.remote = "192.0.2.8";
  REQUIRE(logins.login(owner));
  for (int i = 0; i < 2; ++i) {
    CHECK(logins.login(with_password("fred", "wrong")).error().kind == ErrorKind::authentication);
  }
  const Error error = logins.login(with_password("fred", "sesame")).error();
  CHECK(error.kind == ErrorKind::throttled);
  CHECK(error.retry_after == seconds(300));
  CHECK(logins.asked == 3);
  CHECK(logins.login(owner));
  logins.clock.advance(seconds(300));
  CHECK(logins.login(with_password("fred", "sesame")));
}

TEST_CASE("a good login resets the failures before it, also if it is remembered") {
  LoginsFixture logins({.tries = 2});
  const test::CapturedLog log;
  CHECK(logins.login(with_password("fred", "sesame")));
  for (int i = 0; i < 3; ++i) {
    CHECK(logins.login(with_password("fred", "wrong")).error().kind == ErrorKind::authentication);
    CHECK(logins.login(with_password("fred", "sesame")));
  }
  CHECK(logins.asked == 4);
}

TEST_CASE("a back end that fails counts as a guess if it says so, or if its error is internal") {
  const test::CapturedLog log;
  const Error away{ErrorKind::unavailable, "nobody is there"};
  Error after_a_password = away;
  after_a_password.counts_as_guess = true;
  for (const Error& guess : {after_a_password, Error{ErrorKind::internal, "broken"}}) {
    LoginsFixture logins({.tries = 2});
    Error now = away;
    logins.answer = [&](const Credentials&) { return now; };
    for (int i = 0; i < 3; ++i) {
      CHECK(logins.login(with_password("fred", "sesame")).error().kind == ErrorKind::unavailable);
    }
    now = guess;
    for (int i = 0; i < 3; ++i) CHECK(logins.login(with_token(kToken)).error().message == guess.message);
    for (int i = 0; i < 2; ++i) {
      CHECK(logins.login(with_password("fred", "sesame")).error().message == guess.message);
    }
    CHECK(logins.login(with_password("fred", "sesame")).error().kind == ErrorKind::throttled);
  }
}

TEST_CASE("credentials that are sent with a call are guarded like a login, and not remembered") {
  const test::CapturedLog log;
  LoginsFixture logins({.tries = 2});
  int tries = 0;
  const auto go = [&](std::string_view password, Result<void> taken) {
    return logins.remote->guarded(
        with_password("fred", password),
        [&]() -> Result<void> {
          ++tries;
          return taken;
        },
        logins.clock.steady() + hours(1));
  };
  CHECK(go("sesame", {}));
  CHECK(go("sesame", {}));
  CHECK(tries == 2);
  CHECK(go("sesame", Error{ErrorKind::unavailable, "not there"}).error().message == "not there");
  CHECK(go("wrong", Error{ErrorKind::authentication, "no"}).error().kind == ErrorKind::authentication);
  CHECK(go("sesame", {}));
  CHECK(go("wrong", Error{ErrorKind::authentication, "no"}).error().kind == ErrorKind::authentication);
  CHECK(go("wrong", Error{ErrorKind::authentication, "no"}).error().kind != ErrorKind::timeout);
  CHECK(go("sesame", {}).error().kind == ErrorKind::throttled);
  CHECK(tries == 7);
  CHECK(logins.remote
            ->guarded(
                with_password("", "x"), [] { return Result<void>(); }, SteadyTime::max())
            .error()
            .kind == ErrorKind::authentication);
}

TEST_CASE("login_anew always checks, and counts failures") {
  LoginsFixture logins({.tries = 2});
  REQUIRE(logins.login(with_password("fred", "sesame")));
  const auto first = logins.login_anew(with_password("fred", "sesame"));
  const auto second = logins.login_anew(with_password("fred", "sesame"));
  REQUIRE(first);
  REQUIRE(second);
  CHECK((*first)->token.reveal().text == "token 2");
  CHECK((*second)->token.reveal().text == "token 3");
  for (int i = 0; i < 2; ++i) {
    CHECK(logins.login_anew(with_password("fred", "wrong")).error().kind == ErrorKind::authentication);
  }
  CHECK(logins.login_anew(with_password("fred", "sesame")).error().kind == ErrorKind::throttled);
  CHECK(logins.asked == 5);
}

TEST_CASE("a revoked token is refused without a check, in all processes") {
  const test::ManualClock clock;
  const auto list = std::make_shared<RevocationList>(*store::Store::open({}), clock);
  LoginsFixture logins({.tries = 0}, seconds(30), list);
  LoginsFixture others({.tries = 0}, seconds(30), list);
  const auto grant = *logins.login(with_token(kToken));
  REQUIRE(others.login(with_token(kToken)));
  REQUIRE(logins.remote->log_out(with_token(kToken), *grant));
  const test::CapturedLog log;
  for (LoginsFixture* one : {&logins, &others}) {
    CHECK(one->login(with_token(kToken)).error().kind == ErrorKind::authentication);
    CHECK(one->asked == 1);
  }
  CHECK(log.has("revoked by a logout"));
  CHECK(logins.login(with_token(kOtherToken)));
  CHECK(logins.login(with_password("fred", "sesame")));
}

TEST_CASE("after a revocation of a user no remembered token is good, and a password gets a new one") {
  test::ManualClock time;
  const auto list = std::make_shared<RevocationList>(*store::Store::open({}), time);
  LoginsFixture logins({.tries = 0}, seconds(300), list);
  REQUIRE(logins.login(with_token(kToken)));
  const auto password = *logins.login(with_password("fred", "sesame"));
  // In this fixture, a token belongs to a user with an empty name and an empty eauth.
  REQUIRE(list->add_user("", "", time.wall()));
  REQUIRE(list->add_user("pam", "fred", time.wall()));
  logins.clock.advance(seconds(2));
  CHECK(logins.login(with_token(kToken)).error().kind == ErrorKind::authentication);
  const int asked = logins.asked;
  const auto again = *logins.login(with_password("fred", "sesame"));
  CHECK(logins.asked == asked + 1);
  CHECK(again != password);
  CHECK(*logins.login(with_password("fred", "sesame")) == again);
}

TEST_CASE("while revocations cannot be read, logins fail as unavailable") {
  const test::ManualClock clock;
  const std::shared_ptr<store::Store> store = *store::Store::open({});
  LoginsFixture logins({.tries = 0}, seconds(300), std::make_shared<RevocationList>(store, clock));
  REQUIRE(logins.login(with_token(kToken)));
  REQUIRE(store->execute("DROP TABLE revoked_user"));
  CHECK(logins.login(with_password("fred", "sesame")).error().kind == ErrorKind::unavailable);
  REQUIRE(store->execute("DROP TABLE revoked_token"));
  CHECK(logins.login(with_token(kToken)).error().kind == ErrorKind::unavailable);
}

}  // namespace rest_fcgi::auth

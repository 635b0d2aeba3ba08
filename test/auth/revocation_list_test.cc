// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/revocation_list.h"

#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../support/manual_clock.h"
#include "../support/soon.h"
#include "../support/temp_dir.h"

namespace rest_fcgi::auth {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

const std::string kRevokedToken(64, 'a');
const std::string kOtherRevoked(64, 'b');

/// Lists of several processes over one database.
struct Host {
  [[nodiscard]] std::shared_ptr<store::Store> open() const {
    auto opened = store::Store::open({.path = dir / "state/state.db"});
    REQUIRE(opened);
    return *std::move(opened);
  }
  [[nodiscard]] std::shared_ptr<RevocationList> process() const {
    auto made = RevocationList::make(open(), clock);
    REQUIRE(made);
    return *std::move(made);
  }

  test::TempDir dir;
  test::ManualClock clock;
};

std::int64_t rows(store::Store& store, const char* sql) {
  std::int64_t count = -1;
  REQUIRE(store.read([&](store::Connection& from) -> Result<void> {
    count = (*from.number(sql)).value_or(-1);
    return {};
  }));
  return count;
}

constexpr const char* kTokenRows = "SELECT count(*) FROM revoked_token";
constexpr const char* kUserRows = "SELECT count(*) FROM revoked_user";

}  // namespace

TEST_CASE("a revoked token is known at once here, within a second in other processes, and after a restart") {
  Host host;
  const auto here = host.process();
  const auto there = host.process();
  CHECK_FALSE(here->has(SecretView(kRevokedToken)));
  REQUIRE(here->add(SecretView(kRevokedToken), host.clock.wall() + seconds(60)));
  CHECK(here->has(SecretView(kRevokedToken)));
  CHECK(test::holds_soon([&] { return there->has(SecretView(kRevokedToken)); }));
  CHECK(host.process()->has(SecretView(kRevokedToken)));
  for (const auto& one : {here, there}) CHECK_FALSE(one->has(SecretView(kOtherRevoked)));
  CHECK(host.dir.read("state/state.db-wal").find(kRevokedToken) == std::string::npos);
}

TEST_CASE("each process reads what was added since, by any of them") {
  Host host;
  const auto here = host.process();
  const auto there = host.process();
  const WallTime end = host.clock.wall() + seconds(60);
  for (int i = 0; i < 3; ++i) {
    const std::string mine(64, static_cast<char>('0' + i));
    const std::string theirs(64, static_cast<char>('5' + i));
    REQUIRE(here->add(SecretView(mine), end));
    REQUIRE(there->add(SecretView(theirs), end));
    CHECK(test::holds_soon([&] { return here->has(SecretView(theirs)) && there->has(SecretView(mine)); }));
  }
}

TEST_CASE("a revoked token is forgotten when it would have expired") {
  Host host;
  const auto store = host.open();
  const auto list = *RevocationList::make(store, host.clock);
  REQUIRE(list->add(SecretView(kRevokedToken), host.clock.wall() + seconds(60)));
  REQUIRE(list->add(SecretView(kOtherRevoked), host.clock.wall() + seconds(90)));
  host.clock.advance(seconds(60));
  CHECK_FALSE(list->has(SecretView(kRevokedToken)));
  CHECK(list->has(SecretView(kOtherRevoked)));
  CHECK(test::holds_soon([&] { return rows(*store, kTokenRows) == 1; }));
}

TEST_CASE("all tokens of a user that were made until then are revoked, of one back end or of all") {
  Host host;
  const auto here = host.process();
  const auto there = host.process();
  const WallTime now = host.clock.wall();
  REQUIRE(here->add_user("pam", "fred", now));
  REQUIRE(here->add_user("", "ann", now));
  CHECK(test::holds_soon([&] { return there->has_user("file", "ann", now); }));
  for (const auto& one : {here, there, host.process()}) {
    CHECK(one->has_user("pam", "fred", now));
    CHECK(one->has_user("pam", "fred", now - seconds(1)));
    CHECK_FALSE(one->has_user("pam", "fred", now + seconds(1)));
    CHECK_FALSE(one->has_user("file", "fred", now));
    CHECK_FALSE(one->has_user("pam", "Fred", now));
    CHECK(one->has_user("pam", "ann", now));
  }
}

TEST_CASE("the tokens of one user may be revoked again and again, in one row, which goes when none is left") {
  Host host;
  const auto store = host.open();
  const auto list = *RevocationList::make(store, host.clock);
  const auto there = host.process();
  for (int i = 0; i < 3; ++i) {
    host.clock.advance(seconds(10));
    const WallTime now = host.clock.wall();
    REQUIRE(list->add_user("pam", "fred", now));
    CHECK(list->has_user("pam", "fred", now));
    CHECK(test::holds_soon([&] { return there->has_user("pam", "fred", now); }));
  }
  CHECK(rows(*store, kUserRows) == 1);
  host.clock.advance(hours(24 * 365));
  CHECK(list->has_user("pam", "fred", host.clock.wall() - hours(24 * 365)));
  host.clock.advance(hours(25));
  CHECK(test::holds_soon([&] { return rows(*store, kUserRows) == 0; }));
}

TEST_CASE("threads that revoke at the same time lose nothing") {
  Host host;
  const auto list = host.process();
  const auto token = [](int number) { return std::string(60, 'c') + std::to_string(1000 + number); };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        static_cast<void>(list->add(SecretView(token(t * 10 + i)), host.clock.wall() + seconds(60)).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto again = host.process();
  for (int i = 0; i < 40; ++i) {
    CHECK(list->has(SecretView(token(i))));
    CHECK(again->has(SecretView(token(i))));
  }
}

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/revocation_list.h"

#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "../support/eventually.h"
#include "../support/manual_clock.h"
#include "../support/temp_dir.h"

namespace rest_fcgi::auth {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

const std::string kRevokedToken(64, 'a');
const std::string kOtherRevoked(64, 'b');

struct Host {
  [[nodiscard]] std::shared_ptr<store::Store> open() const {
    return *store::Store::open({.path = dir / "state/state.db"});
  }
  [[nodiscard]] std::unique_ptr<RevocationList> process() const {
    return std::make_unique<RevocationList>(open(), clock);
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

TEST_CASE("a revoked token is known at once in all processes and after a restart, by its hash") {
  Host host;
  const auto here = host.process();
  const auto there = host.process();
  const SecretView token(kRevokedToken);
  CHECK_FALSE(*here->has(token));
  REQUIRE(here->add(token, host.clock.wall() + seconds(60)));
  REQUIRE(there->add(token, host.clock.wall() + seconds(60)));
  const auto restarted = host.process();
  for (const RevocationList* one : {here.get(), there.get(), restarted.get()}) {
    CHECK(*one->has(token));
    CHECK_FALSE(*one->has(SecretView(kOtherRevoked)));
  }
  CHECK(host.dir.read("state/state.db-wal").find(kRevokedToken) == std::string::npos);
}

TEST_CASE("a revocation is removed when its token would have expired") {
  Host host;
  const auto store = host.open();
  RevocationList list(store, host.clock);
  REQUIRE(list.add(SecretView(kRevokedToken), host.clock.wall() + seconds(60)));
  REQUIRE(list.add(SecretView(kOtherRevoked), host.clock.wall() + seconds(90)));
  host.clock.advance(seconds(60));
  CHECK(test::eventually([&] { return rows(*store, kTokenRows) == 1; }));
  CHECK(*list.has(SecretView(kOtherRevoked)));
}

TEST_CASE("all tokens of a user that started until then are revoked, of one back end or of all") {
  Host host;
  const auto here = host.process();
  const auto there = host.process();
  const WallTime now = host.clock.wall();
  REQUIRE(here->add_user("pam", "fred", now));
  REQUIRE(here->add_user("", "ann", now));
  const auto restarted = host.process();
  for (const RevocationList* one : {here.get(), there.get(), restarted.get()}) {
    CHECK(*one->has_user("pam", "fred", now));
    CHECK(*one->has_user("pam", "fred", now - seconds(1)));
    CHECK_FALSE(*one->has_user("pam", "fred", now + seconds(1)));
    CHECK_FALSE(*one->has_user("file", "fred", now));
    CHECK_FALSE(*one->has_user("pam", "Fred", now));
    CHECK(*one->has_user("pam", "ann", now));
    CHECK(*one->has_user("file", "ann", now));
  }
}

TEST_CASE("repeated revocations of a user take one row, which is removed after the longest token life") {
  Host host;
  const auto store = host.open();
  RevocationList list(store, host.clock);
  for (int i = 0; i < 3; ++i) {
    host.clock.advance(seconds(10));
    REQUIRE(list.add_user("pam", "fred", host.clock.wall()));
    CHECK(*list.has_user("pam", "fred", host.clock.wall()));
  }
  CHECK(rows(*store, kUserRows) == 1);
  host.clock.advance(hours(24 * 365));
  CHECK(*list.has_user("pam", "fred", host.clock.wall() - hours(24 * 365)));
  host.clock.advance(hours(25));
  CHECK(test::eventually([&] { return rows(*store, kUserRows) == 0; }));
}

}  // namespace rest_fcgi::auth

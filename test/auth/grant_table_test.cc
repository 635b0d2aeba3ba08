// SPDX-License-Identifier: MIT
#include "auth/grant_table.h"

#include <algorithm>
#include <utility>

#include <doctest/doctest.h>

#include "../support/manual_clock.h"

namespace rest_fcgi::auth {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;

std::shared_ptr<const Grant> grant_until(WallTime expire) {
  return std::make_shared<const Grant>(Grant{"fred", "pam", {}, Secret("t0ken"), expire});
}

GrantTable::Key key(std::size_t number) {
  GrantTable::Key key{};
  std::memcpy(key.data(), &number, sizeof number);
  return key;
}

// For requests that nothing stays for.
std::shared_ptr<const Grant> find(const GrantTable& table, const GrantTable::Key& key) {
  return table.find(key, SteadyTime::max());
}

void remember(GrantTable& table, const GrantTable::Key& key, std::shared_ptr<const Grant> grant) {
  table.remember(key, std::move(grant), SteadyTime::min());
}

}  // namespace

TEST_CASE("a grant is remembered until the time is over") {
  test::ManualClock clock;
  GrantTable table(seconds(30), clock);
  CHECK(find(table, key(1)) == nullptr);
  const auto grant = grant_until(clock.wall() + hours(1));
  remember(table, key(1), grant);
  CHECK(find(table, key(2)) == nullptr);
  clock.advance(seconds(30) - microseconds(1));
  CHECK(find(table, key(1)) == grant);
  clock.advance(microseconds(1));
  CHECK(find(table, key(1)) == nullptr);
}

TEST_CASE("a grant is remembered no longer than it lasts") {
  test::ManualClock clock;
  GrantTable table(seconds(30), clock);
  remember(table, key(1), grant_until(clock.wall() + seconds(10)));
  clock.advance(seconds(10) - microseconds(1));
  CHECK(find(table, key(1)) != nullptr);
  clock.advance(microseconds(1));
  CHECK(find(table, key(1)) == nullptr);
}

TEST_CASE("a grant that has ended, and any grant with a time of 0, is not remembered") {
  const test::ManualClock clock;
  GrantTable table(seconds(30), clock);
  remember(table, key(1), grant_until(clock.wall()));
  CHECK(table.size() == 0);
  GrantTable nothing(seconds(0), clock);
  remember(nothing, key(1), grant_until(clock.wall() + hours(1)));
  CHECK(nothing.size() == 0);
}

TEST_CASE(
    "a grant stays for its own request, and a moment for those that come with it, whatever the time is") {
  test::ManualClock clock;
  const SteadyTime deadline = clock.steady() + seconds(60);
  for (const seconds ttl : {seconds(0), seconds(30)}) {
    GrantTable table(ttl, clock);
    const auto grant = grant_until(clock.wall() + hours(1));
    table.remember(key(1), grant, deadline);
    CHECK(table.find(key(1), deadline - seconds(1)) == grant);
    clock.advance(std::max(ttl, seconds(5)));
    CHECK(table.find(key(1), deadline) == grant);
    CHECK(table.find(key(1), deadline - seconds(1)) == nullptr);
    CHECK(table.find(key(1), deadline + microseconds(1)) == nullptr);
  }
}

TEST_CASE("a grant stays for no request beyond its own end, nor beyond the request's") {
  test::ManualClock clock;
  GrantTable table(seconds(0), clock);
  const SteadyTime deadline = clock.steady() + seconds(60);
  table.remember(key(1), grant_until(clock.wall() + seconds(10)), deadline);
  table.remember(key(2), grant_until(clock.wall() + hours(1)), deadline);
  clock.advance(seconds(10));
  CHECK(table.find(key(1), deadline) == nullptr);
  CHECK(table.find(key(2), deadline) != nullptr);
  clock.advance(seconds(50) + microseconds(1));
  remember(table, key(3), grant_until(clock.wall() + hours(1)));
  CHECK(table.size() == 0);
}

TEST_CASE("what has ended is given up with the next one that is remembered") {
  test::ManualClock clock;
  GrantTable table(seconds(30), clock);
  const std::weak_ptr<const Grant> first = [&] {
    auto grant = grant_until(clock.wall() + hours(1));
    remember(table, key(1), grant);
    return grant;
  }();
  CHECK_FALSE(first.expired());
  clock.advance(seconds(30));
  remember(table, key(2), grant_until(clock.wall() + hours(1)));
  CHECK(first.expired());
  CHECK(table.size() == 1);
}

TEST_CASE("a newer grant takes the place of the one before") {
  test::ManualClock clock;
  GrantTable table(seconds(30), clock);
  remember(table, key(1), grant_until(clock.wall() + hours(1)));
  clock.advance(seconds(20));
  const auto newer = grant_until(clock.wall() + hours(1));
  remember(table, key(1), newer);
  clock.advance(seconds(20));
  CHECK(find(table, key(1)) == newer);
  CHECK(table.size() == 1);
}

TEST_CASE("a full table gives up the grant that ends first") {
  test::ManualClock clock;
  GrantTable table(hours(1), clock);
  for (std::size_t i = 0; i < GrantTable::kMaxGrants; ++i) {
    remember(table, key(i), grant_until(clock.wall() + hours(2)));
    clock.advance(microseconds(1));
  }
  remember(table, key(1), grant_until(clock.wall() + hours(2)));
  CHECK(find(table, key(0)) != nullptr);
  remember(table, key(GrantTable::kMaxGrants), grant_until(clock.wall() + hours(2)));
  CHECK(table.size() == GrantTable::kMaxGrants);
  CHECK(find(table, key(0)) == nullptr);
  CHECK(find(table, key(1)) != nullptr);
  CHECK(find(table, key(2)) != nullptr);
}

TEST_CASE("only the very grant that is named is forgotten") {
  const test::ManualClock clock;
  GrantTable table(seconds(30), clock);
  const auto older = grant_until(clock.wall() + hours(1));
  const auto newer = grant_until(clock.wall() + hours(1));
  remember(table, key(1), older);
  table.forget(key(2), *older);
  CHECK(find(table, key(1)) == older);
  remember(table, key(1), newer);
  table.forget(key(1), *older);
  CHECK(find(table, key(1)) == newer);
  table.forget(key(1), *newer);
  CHECK(find(table, key(1)) == nullptr);
}

}  // namespace rest_fcgi::auth

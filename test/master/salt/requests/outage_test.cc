// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "master/salt/requests/connection.h"

namespace rest_fcgi::salt {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTimeout{300};
constexpr SteadyTime kStart{std::chrono::hours(1)};

}  // namespace

TEST_CASE("while the master is there everybody may connect") {
  Outage outage(kTimeout);
  for (int i = 0; i < 3; ++i) CHECK(outage.may_try(kStart));
}

TEST_CASE("after a failure nobody tries for a while, and then one at a time") {
  Outage outage(kTimeout);
  outage.failed(kStart);
  CHECK(!outage.may_try(kStart));
  CHECK(!outage.may_try(kStart + Outage::kPause - milliseconds(1)));
  const SteadyTime again = kStart + Outage::kPause;
  CHECK(outage.may_try(again));
  CHECK(!outage.may_try(again));
  CHECK(!outage.may_try(again + kTimeout));
  outage.failed(again + kTimeout);
  CHECK(!outage.may_try(again + kTimeout));
  CHECK(outage.may_try(again + kTimeout + Outage::kPause));
}

TEST_CASE("a try of which nothing is heard keeps the others up for its time only") {
  Outage outage(kTimeout);
  outage.failed(kStart);
  const SteadyTime again = kStart + Outage::kPause;
  REQUIRE(outage.may_try(again));
  CHECK(outage.may_try(again + kTimeout + Outage::kPause));
}

TEST_CASE("one success ends the outage for all") {
  Outage outage(kTimeout);
  outage.failed(kStart);
  outage.succeeded();
  for (int i = 0; i < 3; ++i) CHECK(outage.may_try(kStart));
}

}  // namespace rest_fcgi::salt

// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "../../../support/execution.h"

namespace rest_fcgi::embedded {
namespace {

TEST_CASE("beacons, mine and schedule return empty lists in Salt's forms") {
  test::Execution minion;
  CHECK(minion.ret("beacons.list", "[]", R"({"return_yaml": false})") == "{}");
  CHECK(minion.ret("beacons.list") == R"("beacons: {}\n")");
  CHECK(minion.ret("beacons.list_available", "[]", R"({"return_yaml": false})") == R"({"beacons": {}})");
  CHECK(minion.ret("schedule.list", "[]", R"({"return_yaml": false})") == "{}");
  CHECK(minion.ret("schedule.list") == R"("schedule: {}\n")");
  for (const std::string fun : {"mine.valid", "saltutil.list_extmods"}) CHECK(minion.ret(fun) == "{}");
}

TEST_CASE("saltutil's refresh and sync functions return at once") {
  test::Execution minion;
  for (const std::string fun :
       {"mine.flush", "mine.update", "saltutil.refresh_pillar", "saltutil.pillar_refresh",
        "saltutil.refresh_grains", "saltutil.refresh_modules", "saltutil.refresh_beacons"}) {
    CAPTURE(fun);
    CHECK(minion.ret(fun) == "true");
  }
  for (const std::string fun : {"saltutil.sync_grains", "saltutil.sync_modules", "saltutil.sync_states"}) {
    CHECK(minion.ret(fun) == "[]");
  }
  CHECK(minion.ret("saltutil.sync_all").find(R"("modules": [], )") != std::string::npos);
}

}  // namespace
}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/jid.h"

#include <chrono>

#include <doctest/doctest.h>

using namespace rest_fcgi;

TEST_CASE("a jid is its time in UTC, in 20 digits, and start time and stamp have Salt's forms") {
  const WallTime time = std::chrono::sys_days(std::chrono::year(2026) / 1 / 2) + std::chrono::microseconds(3);
  CHECK(jid_at(time) == "20260102000000000003");
  CHECK(jid_time("20260102000000000003") == time);
  CHECK(jid_start_time("20261120230610043746") == "2026, Nov 20 23:06:10.043746");
  CHECK(iso_stamp(*jid_time("20261120230617380290")) == "2026-11-20T23:06:17.380290");
  CHECK(log_stamp(*jid_time("20261120230617380990")) == "2026-11-20T23:06:17.380Z");
  for (const char* text :
       {"", "2026010200000000000", "202601020000000000033", "2026010200000000000x", "20261302000000000003",
        "20260230000000000003", "20260102240000000003", "20260102006000000003", "20260102000060000003"}) {
    CAPTURE(text);
    CHECK_FALSE(jid_time(text).has_value());
    CHECK(jid_start_time(text).empty());
  }
}

// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "master/embedded/runners/runners.h"
#include "rest_fcgi/master/jid.h"

using namespace rest_fcgi;
using namespace rest_fcgi::embedded;

TEST_CASE("times are read in all their forms") {
  const struct {
    const char* text;
    const char* jid;
  } rows[] = {{"20261120230610043746", "20261120230610043746"},
              {"2026-11-20", "20261120000000000000"},
              {"2026-11-20 23:06", "20261120230600000000"},
              {"2026-11-20T23:06:10", "20261120230610000000"},
              {"2026-11-20 9:06:10.5", "20261120090610500000"},
              {"2026, Nov 20 23:06:10.043746", "20261120230610043746"},
              {"2026, Mar 6 19:00", "20260306190000000000"},
              {"2026, Nov 20", "20261120000000000000"}};
  for (const auto& row : rows) {
    CAPTURE(row.text);
    const auto time = parse_time(row.text);
    REQUIRE(time.has_value());
    CHECK(master::jid_at(*time) == row.jid);
  }
}

TEST_CASE("a text that is no time is none") {
  for (const char* text :
       {"", "now", "2026", "2026-13-01", "2026-02-30", "2026-11-20 ", "2026-11-20 25:00", "2026-11-20 1",
        "2026-11-20 10:00:00.", "2026-11-20 10:00 x", "2026, Foo 20", "2026, Nov", "26-11-20"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_time(text).has_value());
  }
}

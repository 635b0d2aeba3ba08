// SPDX-License-Identifier: MIT
#include "returner/jids.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

namespace rest_fcgi::returner {
namespace {

TEST_CASE("a jid's key gives the jid back, and keys sort as jids do") {
  CHECK(key_of("20261121061410043746") == 261121061410043746);
  std::optional<JidKey> before = std::numeric_limits<JidKey>::min();
  for (const std::string jid : {"11000000000000000000", "19991231235959999999", "20000101000000000000",
                                "20261121061410043746", "20261121061410043747", "28999999999999999999"}) {
    CAPTURE(jid);
    const std::optional<JidKey> key = key_of(jid);
    REQUIRE(key);
    CHECK(jid_of(*key) == jid);
    CHECK(*before < *key);
    before = key;
  }
}

TEST_CASE("what is no jid, or of a year that has no key, has none") {
  for (const char* jid : {"", "2026", "2026112106141004374x", "202611210614100437461", "10999999999999999999",
                          "29000000000000000000", "-0261121061410043746"}) {
    CAPTURE(jid);
    CHECK_FALSE(key_of(jid).has_value());
  }
}

TEST_CASE("bounds hold all keys where they are empty, and none beyond what has a key") {
  CHECK(jid_of(least_key("")) == "11000000000000000000");
  CHECK(jid_of(greatest_key("")) == "28999999999999999999");
  CHECK(jid_of(least_key("2026")) == "20260000000000000000");
  CHECK(jid_of(greatest_key("2026")) == "20259999999999999999");
  CHECK(jid_of(least_key("2026x9")) == "20260000000000000000");
  CHECK(least_key("99") > greatest_key(""));
}

}  // namespace
}  // namespace rest_fcgi::returner

// SPDX-License-Identifier: MIT
#include "returner/stored.h"

#include <limits>
#include <optional>
#include <string>

#include <doctest/doctest.h>

namespace rest_fcgi::returner {
namespace {

TEST_CASE("the key of a jid gives the jid back, and keys have the order of jids") {
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

TEST_CASE("a malformed jid, and a jid of a distant year, has no key") {
  for (const char* jid : {"", "2026", "2026112106141004374x", "202611210614100437461", "10999999999999999999",
                          "29000000000000000000", "-0261121061410043746"}) {
    CAPTURE(jid);
    CHECK_FALSE(key_of(jid).has_value());
  }
}

TEST_CASE("a query selects the jids between its bounds") {
  const std::string jid = "20261121061410043746";
  CHECK(selects({}, jid));
  CHECK(selects({.first = jid, .last = jid}, jid));
  CHECK_FALSE(selects({.after = jid}, jid));
  CHECK_FALSE(selects({.before = jid}, jid));
  CHECK_FALSE(selects({.first = "20261121061410043747"}, jid));
  CHECK_FALSE(selects({.last = "20261121061410043745"}, jid));
  CHECK(jid_of(keys_of({}).least) == "11000000000000000000");
  CHECK(jid_of(keys_of({}).greatest) == "28999999999999999999");
  const JidKeys keys = keys_of({.first = "00010101000000000000", .last = jid, .after = jid + "_7"});
  CHECK(jid_of(keys.least) == jid);
  CHECK(jid_of(keys.greatest) == jid);
  CHECK(keys_of({.last = "99990101000000000000"}).greatest == keys_of({}).greatest);
}

}  // namespace
}  // namespace rest_fcgi::returner

// SPDX-License-Identifier: MIT
#include "returner/record.h"

#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "caches.h"

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

TEST_CASE("no part of a record passes for one") {
  Load load = load_of(jid_number(1));
  load.metadata = Json::trusted("{}");
  for (const std::string& record : {load_record(1, load, WallTime()), return_record(1, return_of("a", "b")),
                                    minions_record(1, {"a", "b"})}) {
    CHECK(view_of(record).has_value());
    for (std::size_t size = 0; size < record.size(); ++size) {
      const auto part = view_of(std::string_view(record).substr(0, size));
      // A return is kept as it came, and read when it is asked for.
      CHECK((!part.has_value() || part->kind == RecordView::Kind::ret));
    }
  }
  CHECK_FALSE(view_of("\x07........").has_value());
}

TEST_CASE("returns that are cut off are not there") {
  const std::string record = return_record(1, return_of("a", "b"));
  const std::string packed(view_of(record)->ret.packed);
  for (std::size_t size = 0; size < packed.size(); ++size) {
    std::string_view part = std::string_view(packed).substr(0, size);
    CHECK_FALSE(take_return(part).has_value());
    CHECK(part.empty());
  }
  CHECK(minions_in(packed_minions({"a", "bc"})) == std::vector<std::string>{"a", "bc"});
  CHECK(minions_in(packed_minions({"a", "bc"}).substr(0, 9)) == std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace rest_fcgi::returner

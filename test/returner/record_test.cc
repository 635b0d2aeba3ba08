// SPDX-License-Identifier: MIT
#include "returner/record.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
      CHECK_FALSE(view_of(std::string_view(record).substr(0, size)).has_value());
    }
  }
  CHECK_FALSE(view_of("\x07........").has_value());
  CHECK_FALSE(view_of("\x87........").has_value());
}

TEST_CASE("minions that are cut off are not there") {
  const std::string packed = packed_minions({"a", "bc"});
  CHECK(minions_in(packed, Packing::tight) == std::vector<std::string>{"a", "bc"});
  CHECK(minions_in(packed.substr(0, 4), Packing::tight) == std::vector<std::string>{"a"});
}

std::vector<JobReturn> all_of(ReturnReader reader) {
  std::vector<JobReturn> all;
  while (const auto ret = reader.next()) all.push_back(ret->copy());
  return all;
}

void check_same(const std::vector<JobReturn>& found, const std::vector<JobReturn>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(found[i].minion == expected[i].minion);
    CHECK(found[i].ret == expected[i].ret);
    CHECK(found[i].retcode == expected[i].retcode);
    CHECK(found[i].success == expected[i].success);
    CHECK(found[i].out == expected[i].out);
  }
}

TEST_CASE("returns are read as they were, whoever returned, in whatever order, and are cut off whole") {
  const std::vector<std::string> minions{"a", "b", "c", "d", std::string(300, 'e')};
  const std::vector<JobReturn> returns{
      return_of("a", "same"),
      return_of("b", "same"),
      {"d", Json::string("same"), -11, false, ""},
      {"c", Json::string(std::string(20'000, 'x')), 255, false, "highstate"},
      {"not expected", Json::string(std::string(20'000, 'x')), 0, true, "nested"},
      return_of("b", "again"),
      return_of(std::string(300, 'e'), ""),
  };
  std::vector<ReturnView> views;
  for (const JobReturn& ret : returns) views.push_back(view_of(ret));
  const std::string packed = packed_returns(minions, views);
  const std::string names = packed_minions(minions);
  check_same(all_of({packed, names, Packing::tight}), returns);
  for (std::size_t size = 0; size < packed.size();
       size += size < 100 || size > packed.size() - 400 ? 1U : 97U) {
    const auto part = all_of({std::string_view(packed).substr(0, size), names, Packing::tight});
    REQUIRE(part.size() < returns.size());
    check_same(part, {returns.begin(), returns.begin() + static_cast<std::ptrdiff_t>(part.size())});
  }
  // Without the minions that they are packed with, nothing is read from beyond.
  CHECK(all_of({packed, {}, Packing::tight}).empty());
}

TEST_CASE("a ping's return takes a byte, but for the first one's") {
  std::vector<std::string> minions;
  for (int i = 0; i < 1000; ++i) minions.push_back("ms-" + std::to_string(i));
  std::vector<ReturnView> returns;
  for (const std::string& minion : minions) returns.push_back({minion, "true"});
  CHECK(packed_returns(minions, returns).size() == 1000 + 5);
}

// What releases of schema 1 wrote.

/// Four bytes of length, then the text.
std::string wide(std::string_view text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  return std::string(reinterpret_cast<const char*>(&size), sizeof size).append(text);
}

TEST_CASE("records of older releases are read") {
  const std::string head("\x07\0\0\0\0\0\0\0", 8);
  const std::string ret =
      wide("ms-1") + std::string("\xfe\xff\xff\xff", 4) + '\0' + wide("nested") + wide("[1]");
  const std::string minions = wide("ms-0") + wide("ms-1");
  const std::string load = "\x01" + head + std::string("\x09\0\0\0\0\0\0\0", 8) + wide("\"test.ping\"") +
                           wide("[]") + wide("\"*\"") + wide("glob") + wide("fred") + '\x01' + wide("{}") +
                           wide(minions);
  const auto of_load = view_of(load);
  REQUIRE(of_load);
  CHECK(of_load->kind == RecordView::Kind::load);
  CHECK(of_load->key == 7);
  CHECK(of_load->load.saved == 9);
  CHECK(of_load->load.fun == "\"test.ping\"");
  CHECK(of_load->load.user == "fred");
  CHECK(of_load->load.metadata == "{}");
  CHECK(of_load->load.returns.empty());
  CHECK(minions_in(of_load->load.minions, of_load->load.packing) == std::vector<std::string>{"ms-0", "ms-1"});
  for (const auto& [kind, byte] :
       {std::pair(RecordView::Kind::ret, '\x02'), {RecordView::Kind::stand_in, '\x04'}}) {
    const std::string record = byte + head + ret;
    const auto view = view_of(record);
    REQUIRE(view);
    CHECK(view->kind == kind);
    check_same({view->ret.copy()}, {{"ms-1", Json::trusted("[1]"), -2, false, "nested"}});
    check_same(all_of({std::string(view->packed) + ret, {}, view->packing}),
               {view->ret.copy(), view->ret.copy()});
  }
  const std::string more = "\x03" + head + wide(minions);
  REQUIRE(view_of(more));
  CHECK(minions_in(view_of(more)->minions, view_of(more)->packing) ==
        std::vector<std::string>{"ms-0", "ms-1"});
}

}  // namespace
}  // namespace rest_fcgi::returner

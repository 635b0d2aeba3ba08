// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "caches.h"
#include "returner/etcd/layout.h"

namespace rest_fcgi::returner {
namespace {

Load example() {
  return {kJid, Json::string("test.ping"), Json::trusted("[]"), Json::string("*"), "glob", "root", {}, {}};
}

TEST_CASE("a written load is read back unchanged") {
  Load load = example();
  load.fun = Json::trusted(R"(["test.ping", "test.arg"])");
  load.metadata = Json::trusted(R"({"a": 1})");
  load.minions = {"m1", "m2"};
  const std::string text = load_text(load);
  CHECK(text.find(R"("kwargs": {"delimiter": ":", "metadata": {"a": 1}}, "Minions": ["m1", "m2"]})") !=
        std::string::npos);
  const auto found = load_in(kJid, text);
  REQUIRE(found);
  CHECK(found->fun == load.fun);
  CHECK(found->metadata == load.metadata);
  CHECK(found->minions == load.minions);
  CHECK(found->tgt_type == "glob");
  CHECK(found->user == "root");
}

TEST_CASE("a return that a master wrote over its load is read as a load") {
  const auto load = load_in(kJid, R"({"id": "m1", "return": true, "fun": "test.arg", "fun_args": [1]})");
  REQUIRE(load);
  CHECK(load->jid == kJid);
  CHECK(load->fun.text() == "\"test.arg\"");
  CHECK(load->arg.text() == "[1]");
  CHECK(load->tgt.text() == "\"unknown-target\"");
  CHECK(load->tgt_type == "list");
  CHECK(load->user == "root");
  CHECK(load->minions.empty());
  CHECK(load_in(kJid, "{}")->fun.text() == "\"unknown-function\"");
}

TEST_CASE("a value that is not a JSON object is no load") {
  for (const char* text : {"", "[]", "true", "{", "\"x\""}) {
    CHECK_FALSE(load_in(kJid, text).has_value());
    CHECK_FALSE(with_minions(text, {"m1"}).has_value());
  }
}

TEST_CASE("members of unexpected types are ignored") {
  const auto load = load_in(kJid, R"({"fun": 5, "tgt_type": 7, "user": null, "Minions": ["a", 1], "x": {}})");
  REQUIRE(load);
  CHECK(load->fun.text() == "5");
  CHECK(load->tgt_type == "list");
  CHECK(load->user == "root");
  CHECK(load->minions == std::vector<std::string>{"a"});
  CHECK(load_in(kJid, R"({"metadata": 1, "kwargs": {"metadata": 2}})")->metadata->text() == "1");
}

TEST_CASE("with_minions adds minions and changes nothing else") {
  CHECK(*with_minions(R"({"b": 1.0, "Minions": ["m2"], "a": "ä"})", {"m3", "m1", "m2"}) ==
        R"({"b": 1.0, "a": "ä", "Minions": ["m1", "m2", "m3"]})");
}

TEST_CASE("the fields of a return have Salt's order") {
  const JobReturn ret{"m1", Json::boolean(true), 0, true, ""};
  const auto fields = return_fields(kJid, ret, {"\"test.ping\"", "[]"}, "2026-11-20T23:15:01.000001");
  const std::vector<std::pair<std::string_view, std::string>> expected{
      {"cmd", "\"_return\""},   {"id", "\"m1\""},   {"success", "true"},
      {"return", "true"},       {"retcode", "0"},   {"jid", "\"20261120231500123456\""},
      {"fun", "\"test.ping\""}, {"fun_args", "[]"}, {"_stamp", "\"2026-11-20T23:15:01.000001\""}};
  CHECK(fields == expected);
  const auto more = return_fields(kJid, {"m1", {}, 0, true, "highstate"}, {"1", "[]"}, "");
  CHECK(more.back().first == "out");
  CHECK(more.back().second == "\"highstate\"");
  CHECK(more.size() == 9);
}

TEST_CASE("a return is read from any field values") {
  JobReturn ret;
  CHECK_FALSE(read_field(ret, "retcode", "7"));
  CHECK_FALSE(read_field(ret, "success", "false"));
  CHECK_FALSE(read_field(ret, "out", "\"nested\""));
  CHECK(read_field(ret, "return", R"({"ä": "é\n", "n": 1, "f": 1.5, "z": null})"));
  CHECK(ret.retcode == 7);
  CHECK_FALSE(ret.success);
  CHECK(ret.out == "nested");
  CHECK(ret.ret.text() == R"({"ä": "é\n", "n": 1, "f": 1.5, "z": null})");
  for (const char* name : {"retcode", "success", "out", "fun"}) {
    CHECK_FALSE(read_field(ret, name, "{"));
    CHECK_FALSE(read_field(ret, name, "{}"));
  }
  CHECK_FALSE(ret.success);
  CHECK(ret.out == "nested");
  CHECK(ret.retcode == 0);
  CHECK_FALSE(read_field(ret, "retcode", "99999999999"));
  CHECK(ret.retcode == 2147483647);
}

TEST_CASE("malformed UTF-8 is replaced, and a value that is not JSON becomes a string") {
  CHECK(json_in("\"\xe4\"").text() == "\"\xef\xbf\xbd\"");
  CHECK(json_in("not JSON").text() == "\"not JSON\"");
  CHECK(json_in("").text() == "\"\"");
}

}  // namespace
}  // namespace rest_fcgi::returner

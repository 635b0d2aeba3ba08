// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "caches.h"
#include "returner/etcd/layout.h"

namespace rest_fcgi::returner {
namespace {

EtcdOptions v3() {
  EtcdOptions options;
  options.require_v2 = false;
  return options;
}

/// Checks that `encoded` puts `header` before `text`, and that `decoded` removes `header`.
void check_coded(std::string_view text, std::string_view header) {
  CAPTURE(text.size());
  const std::string stored = EtcdLayout(v3()).encoded(text);
  CHECK(stored == std::string(header) + std::string(text));
  CHECK(decoded(stored) == text);
}

TEST_CASE("repeated slashes of the root stay in API v3, and become one in API v2") {
  EtcdOptions options = v3();
  options.root = "/r/";
  CHECK(EtcdLayout(options).minions() == "/r//minions/");
  options.require_v2 = true;
  CHECK(EtcdLayout(options).minions() == "/r/minions/");
  options.root = "r//s//";
  CHECK(EtcdLayout(options).minions() == "/r/s/minions/");
  options.root = "/";
  CHECK(EtcdLayout(options).minions() == "/minions/");
}

TEST_CASE("a value is a msgpack string with the shortest header or plain text, and both are read") {
  check_coded("", "\xa0");
  check_coded("true", "\xa4");
  check_coded("20261120231500123456", "\xb4");
  check_coded(std::string(31, 'x'), "\xbf");
  check_coded(std::string(32, 'x'), "\xd9\x20");
  check_coded(std::string(255, 'x'), "\xd9\xff");
  check_coded(std::string(256, 'x'), std::string_view("\xda\x01\x00", 3));
  check_coded(std::string(65535, 'x'), "\xda\xff\xff");
  check_coded(std::string(65536, 'x'), std::string_view("\xdb\x00\x01\x00\x00", 5));
  EtcdOptions options = v3();
  options.encode_values = false;
  CHECK(EtcdLayout(options).encoded("true") == "true");
  options.encode_values = true;
  options.require_v2 = true;
  CHECK(EtcdLayout(options).encoded("true") == "true");
  CHECK(decoded("") == "");
  CHECK(decoded("true") == "true");
  CHECK(decoded("20261120231500123456") == "20261120231500123456");
  CHECK(decoded("\xc4\x04true") == "true");
  CHECK(decoded(std::string_view("\xc5\x00\x04true", 7)) == "true");
  CHECK(decoded(std::string_view("\xc6\x00\x00\x00\x04true", 9)) == "true");
  // If the length in the header does not fit, the value is plain text.
  CHECK(decoded("\xa5true") == "\xa5true");
  CHECK(decoded("\xd9") == "\xd9");
  CHECK(decoded("\xdb\x01") == "\xdb\x01");
}

TEST_CASE("field_in recognizes the fields of a return, and is_key_part refuses unsafe texts") {
  REQUIRE(field_in("m1/return"));
  CHECK(field_in("m1/return")->minion == "m1");
  CHECK(field_in("m1/return")->name == "return");
  for (const char* other : {".load.p", "m1/", "/return", "m1/a/b", "", "../x"}) {
    CHECK_FALSE(field_in(other).has_value());
  }
  CHECK(is_key_part("web1.example.com"));
  CHECK(is_key_part("münchen"));
  for (const char* text : {"", ".", "..", "a/b", "a\nb", "a\x7f"}) CHECK_FALSE(is_key_part(text));
  CHECK_FALSE(is_key_part(std::string(257, 'x')));
  CHECK(is_like_jid("20261120231500123456"));
  CHECK(is_like_jid("20261120231500123456_4711"));
  CHECK_FALSE(is_like_jid("2026112023150012345"));
  CHECK_FALSE(is_like_jid("req"));
  CHECK_FALSE(is_like_jid("20261120231500123456/.."));
}

Load example() {
  return {kJid, Json::string("test.ping"), Json::trusted("[]"), Json::string("*"), "glob", "root", {}, {}};
}

TEST_CASE("a written load is read back unchanged, and with_minions adds only minions") {
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
  CHECK(*with_minions(R"({"b": 1.0, "Minions": ["m2"], "a": "ä"})", {"m3", "m1", "m2"}) ==
        R"({"b": 1.0, "a": "ä", "Minions": ["m1", "m2", "m3"]})");
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

TEST_CASE("a value that is not a JSON object is no load, and members of unexpected types are ignored") {
  for (const char* text : {"", "[]", "true", "{", "\"x\""}) {
    CHECK_FALSE(load_in(kJid, text).has_value());
    CHECK_FALSE(with_minions(text, {"m1"}).has_value());
  }
  const auto load = load_in(kJid, R"({"fun": 5, "tgt_type": 7, "user": null, "Minions": ["a", 1], "x": {}})");
  REQUIRE(load);
  CHECK(load->fun.text() == "5");
  CHECK(load->tgt_type == "list");
  CHECK(load->user == "root");
  CHECK(load->minions == std::vector<std::string>{"a"});
  CHECK(load_in(kJid, R"({"metadata": 1, "kwargs": {"metadata": 2}})")->metadata->text() == "1");
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

TEST_CASE("a return is read from any field values, also from malformed ones") {
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
  CHECK(json_in("\"\xe4\"").text() == "\"\xef\xbf\xbd\"");
  CHECK(json_in("not JSON").text() == "\"not JSON\"");
  CHECK(json_in("").text() == "\"\"");
}

}  // namespace
}  // namespace rest_fcgi::returner

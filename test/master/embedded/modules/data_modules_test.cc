// SPDX-License-Identifier: MIT
// `test/wire/test_salt_call.py` compares most functions of this file with a real minion.
#include <doctest/doctest.h>

#include "../../../support/execution.h"

namespace rest_fcgi::embedded {
namespace {

TEST_CASE("config.get searches options, grains and pillar in this order") {
  test::Execution m(R"({"both": "grain", "id": "grain"})");
  m.set_pillar(R"({"both": "pillar"})");
  CHECK(m.ret("config.get", R"(["id"])") == R"("ms-0")");
  CHECK(m.ret("config.get", R"(["id"])", R"({"omit_opts": true})") == R"("grain")");
  CHECK(m.ret("config.get", R"(["both"])") == R"("grain")");
  CHECK(m.ret("config.get", R"(["both"])", R"({"omit_grains": true})") == R"("pillar")");
}

TEST_CASE("config.get shows nothing of the server's own configuration") {
  test::Execution m;
  const std::string all = m.ret("config.get", "[[]]");
  CHECK(all.find(R"("id": "ms-0")") != std::string::npos);
  CHECK(all.find(R"("hash_type": "sha256")") != std::string::npos);
  for (const char* key : {"sharedsecret", "external_auth", "rest_fcgi", "token_dir"}) {
    CAPTURE(key);
    CHECK(m.ret("config.get", "[\"" + std::string(key) + "\"]") == R"("")");
    CHECK(all.find("\"" + std::string(key) + "\":") == std::string::npos);
  }
}

constexpr std::string_view kGrains =
    R"({"os": "Debian", "pkg": {"apache": "httpd", "deep": {"n": [10, 20]}}, "list": ["a", {"b": 1}, "c"], "num": 5, )"
    R"("none": null, "host": "web", "serialnumber": "ABCDEFGH", "a.b": "dotted", "flag": true})";

TEST_CASE("grains.items with sanitize replaces grains that identify the host") {
  const std::string_view grains =
      R"({"id": "a", "fqdn": "a.b", "domain": "b", "nodename": "a", "localhost": "a", )"
      R"("serialnumber": "ABCDEFGH", "os": "x"})";
  const std::string_view sanitized =
      R"({"id": "MINION.DOMAINNAME", "fqdn": "MINION.DOMAINNAME", "domain": "DOMAINNAME", "nodename": "MINION", )"
      R"("localhost": "MINION", "serialnumber": "ABCDEFXX", "os": "x"})";
  test::Execution minion(grains);
  for (const std::string_view yes : {"[true]", "[1]", "[\"True\"]", "[\"sanitize=True\"]"}) {
    CAPTURE(yes);
    CHECK(minion.ret("grains.items", yes) == sanitized);
  }
  for (const std::string_view no : {"[false]", "[0]", "[\"yes\"]", "[null]"}) {
    CAPTURE(no);
    CHECK(minion.ret("grains.items", no) == grains);
  }
}

TEST_CASE("grains.item takes a default, a delimiter and sanitize") {
  test::Execution minion(kGrains);
  CHECK(minion.ret("grains.item", R"(["default=5", "nosuch"])") == R"({"nosuch": 5})");
  CHECK(minion.ret("grains.item", R"(["pkg.apache"])", R"({"delimiter": "."})") ==
        R"({"pkg.apache": "httpd"})");
  CHECK(minion.ret("grains.item", R"(["host", "serialnumber", "num"])", R"({"sanitize": true})") ==
        R"({"host": "MINION", "serialnumber": "ABCDEFXX", "num": 5})");
}

TEST_CASE("grains.item limits the size of repeated defaults") {
  test::Execution minion(kGrains);
  std::string keys;
  for (int i = 0; i < 50; ++i) keys += (i == 0 ? "\"k" : ", \"k") + std::to_string(i) + "\"";
  const std::string kwargs = "{\"default\": \"" + std::string(100000, 'x') + "\"}";
  CHECK(minion.ret("grains.item", "[\"a\", \"b\"]", kwargs).size() > 200000);
  CHECK(minion.run("grains.item", "[" + keys + "]", kwargs).retcode == 1);
}

TEST_CASE("pillar.data merges the pillar with the argument pillar") {
  test::Execution m;
  m.set_pillar(R"({"a": {"x": 1}, "b": 2})");
  CHECK(m.ret("pillar.data", "[]", R"({"pillar": {"a": {"y": 3}}})") == R"({"a": {"x": 1, "y": 3}, "b": 2})");
}

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

// SPDX-License-Identifier: MIT
// `test/wire/test_salt_call.py` compares most of these functions with a real minion.
#include <doctest/doctest.h>

#include "../../../support/execution.h"

namespace rest_fcgi::embedded {
namespace {

test::Execution minion_with_settings() {
  test::Execution made(R"({"os": "Debian", "both": "grain", "map": {"g": 1, "x": 1}, "id": "grain"})");
  made.set_pillar(R"({"both": "pillar", "map": {"p": 2, "x": 2}, "list": [1], "own": "p", )"
                  R"("master": {"list": [2], "map": {"m": 3}, "far": "m", "status.x": 1}})");
  return made;
}

TEST_CASE("config.get searches options, grains, pillar and the pillar's master in this order") {
  test::Execution m = minion_with_settings();
  CHECK(m.ret("config.get", R"(["id"])") == R"("ms-0")");
  CHECK(m.ret("config.get", R"(["both"])") == R"("grain")");
  CHECK(m.ret("config.get", R"(["both"])", R"({"omit_grains": true})") == R"("pillar")");
  CHECK(m.ret("config.get", R"(["own"])", R"({"omit_pillar": true})") == R"("")");
  CHECK(m.ret("config.get", R"(["far"])") == R"("m")");
  CHECK(m.ret("config.get", R"(["far", "none"])", R"({"omit_master": true})") == R"("none")");
  CHECK(m.ret("config.get", R"(["id"])", R"({"omit_opts": true})") == R"("grain")");
  CHECK(m.ret("config.get", R"(["map|x"])", R"({"delimiter": "|"})") == "1");
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
  for (const std::string_view yes :
       {"[true]", "[1]", "[\"True\"]", "[\"+0.5\"]", "[[0]]", "[\"sanitize=True\"]"}) {
    CAPTURE(yes);
    CHECK(minion.ret("grains.items", yes) == sanitized);
  }
  for (const std::string_view no :
       {"[false]", "[0]", "[0.5]", "[-1]", "[\"yes\"]", "[\"-1\"]", "[null]", "[[]]"}) {
    CAPTURE(no);
    CHECK(minion.ret("grains.items", no) == grains);
  }
}

TEST_CASE("grains.get takes other delimiters") {
  test::Execution minion(kGrains);
  CHECK(minion.ret("grains.get", R"(["pkg::deep::n"])", R"({"delimiter": "::"})") == "[10, 20]");
  CHECK(minion.ret("grains.get", R"([" pkg  apache "])", R"({"delimiter": null})") == R"("httpd")");
  for (const std::string_view bad : {"\"\"", "5"}) {
    CHECK(minion.sentence("grains.get", "[\"os\", \"\", " + std::string(bad) + "]")
              .starts_with("ERROR executing 'grains.get': delimiter "));
  }
}

TEST_CASE("grains.get takes a key as a list of steps, and refuses a key of another type") {
  test::Execution minion(kGrains);
  CHECK(minion.ret("grains.get", R"([["pkg", "apache"]])") == R"("httpd")");
  CHECK(minion.ret("grains.get", R"([["list", 0]])") == R"("a")");
  CHECK(minion.ret("grains.get", "[[]]") == kGrains);
  CHECK(minion.ret("grains.get", "[5]") == R"("")");
  CHECK(minion.ret("grains.get", "[1.5]") == R"("")");
  CHECK(minion.ret("grains.get", "[true]") == R"("")");
  for (const auto& [key, shown] :
       {std::pair("[null]", "found None"), {R"([{"os": 1}])", "found {'os': 1}"}}) {
    const std::string error = minion.sentence("grains.get", key);
    CHECK(error.starts_with("ERROR executing 'grains.get': "));
    CHECK(error.ends_with(shown));
  }
}

TEST_CASE("grains.item returns grains under the names in the call") {
  test::Execution minion(kGrains);
  CHECK(minion.ret("grains.item", R"(["os", "pkg:apache", "nosuch", "os"])") ==
        R"({"os": "Debian", "pkg:apache": "httpd", "nosuch": ""})");
  CHECK(minion.ret("grains.item", R"(["default=5", "nosuch"])") == R"({"nosuch": 5})");
  CHECK(minion.ret("grains.item", R"(["pkg.apache"])", R"({"delimiter": "."})") ==
        R"({"pkg.apache": "httpd"})");
  CHECK(minion.ret("grains.item", R"(["host", "serialnumber", "num"])", R"({"sanitize": true})") ==
        R"({"host": "MINION", "serialnumber": "ABCDEFXX", "num": 5})");
  CHECK(minion.ret("grains.item", "[5, true]") == R"({"5": "", "true": ""})");
  CHECK(minion.sentence("grains.item", R"([["pkg", "apache"]])").ends_with("found ['pkg', 'apache']"));
  CHECK(minion.sentence("grains.item", R"(["os"])", R"({"delimiter": 5})").ends_with("found 5"));
}

TEST_CASE("grains.item limits the size of repeated defaults") {
  test::Execution minion(kGrains);
  std::string keys;
  for (int i = 0; i < 50; ++i) keys += (i == 0 ? "\"k" : ", \"k") + std::to_string(i) + "\"";
  const std::string kwargs = "{\"default\": \"" + std::string(100000, 'x') + "\"}";
  CHECK(minion.ret("grains.item", "[\"a\", \"b\"]", kwargs).size() > 200000);
  CHECK(minion.run("grains.item", "[" + keys + "]", kwargs).retcode == 1);
}

test::Execution minion_with_pillar() {
  test::Execution made;
  made.set_pillar(R"({"pkg": {"apache": "httpd", "deep": {"n": [10, 20]}}, "list": ["a", "b"], "num": 5})");
  return made;
}

TEST_CASE("pillar.items returns the pillar, merged with the argument pillar, or the named values") {
  test::Execution m;
  m.set_pillar(R"({"a": {"x": 1}, "b": 2})");
  CHECK(m.ret("pillar.items") == R"({"a": {"x": 1}, "b": 2})");
  CHECK(m.ret("pillar.data", "[]", R"({"pillar": {"a": {"y": 3}}})") == R"({"a": {"x": 1, "y": 3}, "b": 2})");
  CHECK(m.ret("pillar.items", R"(["a:x", "nosuch"])") == R"({"a:x": 1, "nosuch": ""})");
  CHECK(m.ret("pillar.item", R"(["b", "b", 1])", R"({"default": 7})") == R"({"b": 2, "1": 7})");
}

TEST_CASE("pillar.item refuses a name that is no text") {
  test::Execution m = minion_with_pillar();
  CHECK(m.sentence("pillar.item", R"(["num", ["pkg", "apache"]])").ends_with("found ['pkg', 'apache']"));
  CHECK(m.sentence("pillar.item", R"([{"pkg": 1}])").ends_with("found {'pkg': 1}"));
  CHECK(m.sentence("pillar.ls", "[null]").ends_with("found None"));
}

TEST_CASE("pillar.ls and pillar.keys return keys") {
  test::Execution m = minion_with_pillar();
  CHECK(m.ret("pillar.ls") == R"(["pkg", "list", "num"])");
  CHECK(m.ret("pillar.keys", R"(["pkg"])") == R"(["apache", "deep"])");
}

TEST_CASE("pillar.raw returns the pillar, or the value of a key") {
  test::Execution m = minion_with_pillar();
  CHECK(m.ret("pillar.raw", R"(["list"])") == R"(["a", "b"])");
  CHECK(m.ret("pillar.raw", R"(["nosuch"])") == "{}");
  CHECK(m.ret("pillar.raw", "[7]") == "{}");
  CHECK(m.ret("pillar.raw") == m.ret("pillar.items"));
  CHECK(m.sentence("pillar.raw", "[[1]]").ends_with("found [1]"));
}

}  // namespace
}  // namespace rest_fcgi::embedded

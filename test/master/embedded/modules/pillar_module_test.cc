// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "../../../support/execution.h"
#include "outcome.h"

namespace rest_fcgi::embedded {
namespace {

using test::kException;

test::Execution minion_with_pillar() {
  test::Execution made;
  made.set_pillar(R"({"pkg": {"apache": "httpd", "deep": {"n": [10, 20]}}, "list": ["a", "b"], "num": 5})");
  return made;
}

TEST_CASE("pillar.obfuscate replaces values by their types") {
  test::Execution m = minion_with_pillar();
  CHECK(
      m.ret("pillar.obfuscate") ==
      R"({"pkg": {"apache": "<str>", "deep": {"n": ["<int>", "<int>"]}}, "list": ["<str>", "<str>"], "num": "<int>"})");
  CHECK(m.ret("pillar.obfuscate", R"(["num", "nosuch"])") == R"({"num": "<int>", "nosuch": "<str>"})");
}

TEST_CASE("pillar.get returns a value of the pillar, or the default") {
  test::Execution m = minion_with_pillar();
  CHECK(m.ret("pillar.get", R"(["pkg:deep:n:1"])") == "20");
  CHECK(m.ret("pillar.fetch", R"(["pkg|apache"])", R"({"delimiter": "|"})") == R"("httpd")");
  CHECK(m.ret("pillar.get", R"(["nosuch"])") == R"("")");
  CHECK(m.ret("pillar.get", R"(["nosuch", null])") == "null");
}

TEST_CASE("pillar.get with merge merges maps and lists with the default") {
  test::Execution m = minion_with_pillar();
  CHECK(m.ret("pillar.get", R"(["pkg:deep", {"n": [1, 10], "own": 1}])", R"({"merge": true})") ==
        R"({"n": [10, 20], "own": 1})");
  CHECK(m.ret("pillar.get", R"(["pkg:deep", {"n": [1, 10]}])",
              R"({"merge": true, "merge_nested_lists": true})") == R"({"n": [1, 10, 20]})");
  CHECK(m.ret("pillar.get", R"(["list", ["b", "c"]])", R"({"merge": true})") == R"(["b", "c", "a"])");
  CHECK(m.ret("pillar.get", R"(["num", {"a": 1}])", R"({"merge": true})") == "5");
  CHECK(m.ret("pillar.get", R"(["nosuch", {"a": 1}])", R"({"merge": true})") == R"({"a": 1})");
  CHECK(m.ret("pillar.get", R"(["num", 7])", R"({"merge": true})") == "5");
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
  CHECK(m.sentence("pillar.keys", R"(["nosuch"])") ==
        kException + "KeyError: 'Pillar key not found: nosuch'");
  CHECK(m.sentence("pillar.keys", R"(["num"])") ==
        kException + "ValueError: Pillar value in key num is not a dict");
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

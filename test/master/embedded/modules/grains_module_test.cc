// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "../../../support/execution.h"
#include "outcome.h"

namespace rest_fcgi::embedded {
namespace {

using test::kInvalid;

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

TEST_CASE("grains.get walks through objects and lists") {
  test::Execution minion(kGrains);
  const auto get = [&minion](const std::string& key) {
    return minion.ret("grains.get", "[\"" + key + "\"]");
  };
  CHECK(get("os") == R"("Debian")");
  CHECK(get("pkg:apache") == R"("httpd")");
  CHECK(get("pkg:deep") == R"({"n": [10, 20]})");
  CHECK(get("pkg:deep:n:1") == "20");
  CHECK(get("pkg:deep:n:-1") == "20");
  CHECK(get("list: 0 ") == R"("a")");
  CHECK(get("list:b") == "1");
  CHECK(get("list:1:b") == "1");
  CHECK(get("none") == "null");
}

TEST_CASE("grains.get returns the default for a missing grain") {
  test::Execution minion(kGrains);
  for (const std::string key : {"nosuch", "pkg:deep:n:5", "pkg:deep:n:-3", "pkg:deep:n:x", "list:nosuch",
                                "os:0", "num:x", "none:x", "flag:x", "p*", "", "pkg:"}) {
    CAPTURE(key);
    CHECK(minion.ret("grains.get", "[\"" + key + "\"]") == R"("")");
  }
  CHECK(minion.ret("grains.get", R"(["nosuch", {"a": 1}])") == R"({"a": 1})");
  CHECK(minion.ret("grains.get", R"(["nosuch", null])") == "null");
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

TEST_CASE("grains.fetch is grains.get") {
  test::Execution minion(kGrains);
  CHECK(minion.ret("grains.fetch", R"(["pkg:apache"])") == R"("httpd")");
  CHECK(minion.sentence("grains.fetch") ==
        kInvalid + "grains.fetch: get() missing 1 required positional argument: 'key'");
}

TEST_CASE("grains.has_value is true for a grain that is null") {
  test::Execution minion(kGrains);
  CHECK(minion.ret("grains.has_value", R"(["pkg:apache"])") == "true");
  CHECK(minion.ret("grains.has_value", R"(["none"])") == "true");
  CHECK(minion.ret("grains.has_value", R"(["nosuch"])") == "false");
}

TEST_CASE("grains.equals compares as text") {
  test::Execution minion(kGrains);
  CHECK(minion.ret("grains.equals", R"(["os", "Debian"])") == "true");
  CHECK(minion.ret("grains.equals", R"(["num", "5"])") == "true");
  CHECK(minion.ret("grains.equals", R"(["num", 5.0])") == "false");
  CHECK(minion.ret("grains.equals", R"(["flag", "True"])") == "true");
  CHECK(minion.ret("grains.equals", R"(["pkg:deep:n", "[10, 20]"])") == "true");
  CHECK(minion.ret("grains.equals", R"(["nosuch", ""])") == "true");
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

}  // namespace
}  // namespace rest_fcgi::embedded

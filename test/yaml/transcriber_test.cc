// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/yaml/yaml.h"

namespace rest_fcgi::yaml {
namespace {

std::string transcribed(std::string_view text, const Limits& limits = {}) {
  const auto read = transcribe(text, limits);
  return read ? read->json.text() : read.error().message;
}

ErrorKind error_of(std::string_view text, const Limits& limits = {}) {
  return transcribe(text, limits).error().kind;
}

TEST_CASE("transcribe returns the same JSON as read") {
  for (const char* text : {"a: [1, yes, 1.5, ~, x, 'y', \"z\"]\nb: {c: {}}\n", "a: |\n  one\n  two\n", "",
                           "---\n", "- - 1\n- []\n", "{1: a, yes: b, ~: c, 1.50: d, '2': e, x: f}",
                           "[1, 9223372036854775808, 0x10, 1:30, 1_0.5]", "{a: , b}", "{=: 1}", "x", "'5'",
                           "[2001-01-01, !!timestamp 2001-01-01, !!str 5]", "? a\n: - 1\n", "\xEF\xBB\xBF[1]",
                           "{'<<': 1}", "[!!python/unicode x]"}) {
    CAPTURE(text);
    const auto tree = yaml::read("F", text);
    REQUIRE(tree.ok());
    CHECK(transcribed(text) == to_json(*tree).text());
    const auto transcript = transcribe(text);
    REQUIRE(transcript.ok());
    CHECK(transcript->kind == tree->kind);
  }
}

TEST_CASE("a standard tag decides the type of a value, and bytes, sets and pairs are as in Salt") {
  CHECK(transcribed("[!!int '5', !!null x, !!float 5, ! 5, ! x]") == R"([5, null, 5.0, 5, "x"])");
  CHECK(transcribed("[!!binary aGk=, !!binary 'aG\nk=']") == R"(["hi", "hi"])");
  CHECK(transcribed("{!!binary aGk= : 1}") == R"({"hi": 1})");
  CHECK(transcribed("!!set {1, x, ~}") == R"([1, "x", null])");
  CHECK(transcribed("[!!omap [a: 1, 2: [b]], !!pairs [a: {}, a: 2]]") ==
        R"([[["a", 1], [2, ["b"]]], [["a", {}], ["a", 2]]])");
}

TEST_CASE("transcribe refuses aliases and accepts anchors") {
  for (const char* text : {"[&a x, *a]", "a: &a {b: 1}\nc: {<<: *a}", "&a [*a]", "{&a b: 1, *a : 2}"}) {
    CAPTURE(text);
    CHECK(error_of(text) == ErrorKind::invocation);
  }
  CHECK(transcribed("[&a x,\n *a]") ==
        "line 2, column 2: found a YAML alias, expected the value itself; write it out");
  CHECK(error_of("[*a]") == ErrorKind::malformed);
  CHECK(transcribed("{a: &x 1, &k b: &y [2]}") == R"({"a": 1, "b": [2]})");
  CHECK(transcribed("{<<: {a: 1}}").starts_with("line 1, column 2: found <<, "));
}

TEST_CASE("a value that JSON cannot hold, and !!binary of a keyword argument, are refused") {
  for (const std::string text : {".nan", ".inf", "-.Inf", "+.INF", "1.7976931348623157e+309",
                                 "0xFFFFFFFFFFFFFFFFF", "!!float .nan", "!!float nan", "!!float -Infinity"}) {
    CAPTURE(text);
    const std::string value = text.substr(text.rfind(' ') + 1);
    CHECK(error_of("a: [" + text + "]") == ErrorKind::invocation);
    CHECK(transcribed("a: [" + text + "]") ==
          format("line 1, column 5: found {}, which JSON cannot hold; expected a finite number", value));
    CHECK(error_of("{" + text + ": a}") == ErrorKind::invocation);
  }
  CHECK(error_of("!!binary /w==") == ErrorKind::invocation);
  CHECK(error_of("arg: [!!binary YT0x]") == ErrorKind::invocation);        // The base64 text of `a=1`.
  CHECK(error_of("arg: !!binary X2EuYi1jPQ==") == ErrorKind::invocation);  // The base64 text of `_a.b-c=`.
  CHECK(transcribed("[!!binary YT0x]").find("name=value") != std::string::npos);
  CHECK(transcribed("[!!binary YT09MQ==, !!binary PTE=, !!binary MWE9MQ==, !!binary YSA9IDE=]") ==
        R"(["a==1", "=1", "1a=1", "a = 1"])");
}

TEST_CASE("YAML that Salt's loader refuses is malformed") {
  for (const char* text : {"!!binary a",
                           "!!int x",
                           "!!bool x",
                           "!!float x",
                           "0x_",
                           "[=]",
                           "[<<]",
                           "!foo 1",
                           "!!str [1]",
                           "!!seq {}",
                           "!!map []",
                           "{a: 1, a: 2}",
                           "{1: a, 0x1: b}",
                           "{a: 1, 'a': 2}",
                           "? [a]\n: 1",
                           "? {a: 1}\n: 1",
                           "a: 1\n---\nb: 2",
                           "\ta: 1",
                           "!!set {a: 1}",
                           "!!set {a: [1]}",
                           "!!set [a]",
                           "!!omap {a: 1}",
                           "!!omap [a]",
                           "!!omap [[a]]",
                           "!!pairs [{}]",
                           "!!set {a, a}",
                           "a: \x04",
                           "a: \x7f",
                           "[",
                           "a: b: c",
                           "\"\\q\""}) {
    CAPTURE(text);
    CHECK(error_of(text) == ErrorKind::malformed);
  }
  for (const char* text : {"!!omap [{a: 1, b: 2}]", "!!python/object:a.b {}", "!!python/tuple [1]",
                           "!!python/name:os.system ''"})
    CHECK(error_of(text) == ErrorKind::malformed);
}

TEST_CASE("transcribe limits depth and values") {
  CHECK(transcribed("[1, 2]", {.max_values = 3}) == "[1, 2]");
  CHECK(transcribed("[1,\n2, 3]", {.max_values = 3}) ==
        "line 2, column 4: found more than 3 values, expected fewer");
  CHECK(error_of("{a, b}", {.max_values = 4}) == ErrorKind::invocation);
  CHECK(transcribed("[[1]]", {.max_depth = 1}) ==
        "line 1, column 2: found lists and maps nested more than 1 deep, expected fewer levels");
  CHECK(error_of(std::string(100000, '[')) == ErrorKind::malformed);
  CHECK(error_of(std::string(100000, '{')) == ErrorKind::malformed);
}

TEST_CASE("errors of transcribe do not contain the text") {
  CHECK(transcribed("password: !Summer2026") == "line 1, column 11: found a tag, expected a plain value");
  CHECK(transcribed("password: !Summer2026 [x]") == "line 1, column 11: found a tag, expected a plain value");
  for (const char* text : {"<<: Summer2026", "password: {Summer2026, Summer2026}",
                           "password: \"Sum\\mer2026\"", "password: *Summer2026", "password: @Summer2026",
                           "Summer2026: Summer2026: x", "!Summer2026!x y", "password: &Summer2026"}) {
    CAPTURE(text);
    CHECK(transcribed(text).find("mer2026") == std::string::npos);
  }
}

}  // namespace
}  // namespace rest_fcgi::yaml

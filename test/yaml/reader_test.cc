// SPDX-License-Identifier: MIT
#include <cmath>
#include <string>

#include <doctest/doctest.h>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/yaml/yaml.h"

namespace rest_fcgi::yaml {
namespace {

std::string read(std::string_view text, std::size_t max_values = 100000) {
  const auto root = yaml::read("F", text, {.max_values = max_values});
  return root ? to_json(*root).text() : root.error().message;
}

TEST_CASE("maps, lists and scalars are read with their types") {
  CHECK(read("a: [1, yes, 1.5, ~, x, 'y', \"z\"]\nb: {c: {}}\n") ==
        R"({"a": [1, true, 1.5, null, "x", "y", "z"], "b": {"c": {}}})");
  CHECK(read("a: |\n  one\n  two\nb: >\n  three\n  four\n") == R"({"a": "one\ntwo\n", "b": "three four\n"})");
  CHECK(read(R"("\_\N\x41\u20ac")") == "\"\u00a0\u0085A\u20ac\"");
}

TEST_CASE("an empty text and a comment are null, and a byte order mark changes nothing") {
  for (const char* text : {"", "# nothing\n", "---\n"}) CHECK(read(text) == "null");
  const std::string mark = "\xEF\xBB\xBF";
  for (const std::string text : {"[a,  ~]", "[a, ,b]", "", "a: \x01"}) CHECK(read(mark + text) == read(text));
}

TEST_CASE("the standard tags are honoured") {
  CHECK(read("[!!str 5, !!int '5', !!float '1.5', !!bool 'no', !!null '', !!timestamp 2020-01-01]") ==
        R"(["5", 5, 1.5, false, null, "2020-01-01"])");
  CHECK(read("{a: !!map {b: 1}, c: !!seq [1], d: !!set {x}}") ==
        R"({"a": {"b": 1}, "c": [1], "d": {"x": null}})");
}

TEST_CASE("CVE-2025-62348: any other tag is refused") {
  CHECK(read("\na: !foo 1") == "F:2: found a tag, expected a plain value: \"!foo\"");
  CHECK(read("a: !!python/object 1") ==
        "F:1: found a tag that makes a Python object, expected a plain value: "
        "\"tag:yaml.org,2002:python/object\"");
  CHECK(read("a: !foo [1]") == "F:1: found a tag, expected a plain value: \"!foo\"");
  CHECK(read("a: !foo {b: 1}") == "F:1: found a tag, expected a plain value: \"!foo\"");
}

TEST_CASE("an alias is replaced by the value of its anchor, which has to be complete") {
  CHECK(read("a: &x [1, 2]\nb: *x\nc: &y\nd: *y") == R"({"a": [1, 2], "b": [1, 2], "c": null, "d": null})");
  CHECK(read("a: 1\nb: *x").starts_with("F:2: column 4: the referenced anchor is not defined"));
  CHECK(read("a: &x\n  - *x\n") ==
        "F:2: found an alias inside of the value that it names, expected another value");
}

TEST_CASE("aliases that multiply values or text are limited") {
  std::string text = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    text += format("a{}: &a{} [{}, {}, {}, {}, {}, {}]\n", i, i, last, last, last, last, last, last);
  }
  CHECK(read(text).starts_with("F:6: found more than 100000 values"));
  std::string long_text = "a: &a " + std::string(100000, 'x') + "\nb: [";
  for (int i = 0; i < 200; ++i) long_text += "*a, ";
  CHECK(read(long_text + "]") ==
        "F:2: found aliases that stand for more than 16777216 bytes of text, expected fewer");
}

TEST_CASE("values and copies for anchors are counted") {
  const std::string too_many =
      "found more than 10 values, expected fewer; the values that aliases repeat count too";
  CHECK(read("[1, 2, 3, 4, 5, 6, 7, 8, 9]", 10) == "[1, 2, 3, 4, 5, 6, 7, 8, 9]");
  CHECK(read("[1, 2, 3,\n 4, 5, 6, 7, 8, 9, 10, 11]", 10) == "F:2: " + too_many);
  CHECK(read("{a: 1, b: 2, c: 3, d: 4}", 10) == R"({"a": 1, "b": 2, "c": 3, "d": 4})");
  CHECK(read("{a: 1, b: 2, c: 3, d: 4, e: 5}", 10) == "F:1: " + too_many);
  CHECK(read("&a [&b [&c [1]]]", 10) == "F:1: " + too_many);
  CHECK(read("&a [&b [1]]", 10) == "[[1]]");
}

TEST_CASE("a merge key adds the missing entries of maps without a key in common, as in Salt") {
  CHECK(read("a: &a {x: 1, y: 2}\nb: {<<: *a, x: 9}") == R"({"a": {"x": 1, "y": 2}, "b": {"x": 9, "y": 2}})");
  CHECK(read("a: &a {x: 1}\nb: &b {z: 4}\nc: {<<: [*a, *b], q: 1}") ==
        R"({"a": {"x": 1}, "b": {"z": 4}, "c": {"q": 1, "x": 1, "z": 4}})");
  CHECK(read("{'<<': 5}") == R"({"<<": 5})");
  CHECK(read("a: &a {x: 1}\nb: &b\n  x: 3\nc: {<<: [*a, *b]}") ==
        "F:3: found this key twice in one map, first in line 1: \"x\"");
  CHECK(read("a: 1\n<<: 5") == "F:2: found 5 as the value of <<, expected a map or a list of maps");
  CHECK(read("<<: [[1]]") == "F:1: found a list as the value of <<, expected a map or a list of maps");
}

TEST_CASE("a key that stands twice, a list or map as key, and a second document are errors") {
  CHECK(read("a: 1\nb: 2\na: 3\n") == "F:3: found this key twice in one map, first in line 1: \"a\"");
  CHECK(read("x:\n  - {b: 1, b: 1}") == "F:2: found this key twice in one map, first in line 2: \"b\"");
  CHECK(read("? [a]\n: 1") == "F:1: found a list as a key, expected text");
  CHECK(read("? {a: 1}\n: 1") == "F:1: found a map as a key, expected text");
  CHECK(read("a: 1\n---\nb: 2\n") == "F:2: found a second document, expected only one");
  CHECK(read("a: 1\n...\n# the end\n") == R"({"a": 1})");
}

TEST_CASE("malformed YAML is an error with the place and the message of the parser") {
  struct Case {
    const char* text;
    const char* place;
    const char* words;
  };
  const Case cases[] = {
      {"a: 1\nb: [1\nc: 2\n", "F:3: column ", "end of sequence flow not found"},
      {"a: 1\nb: [1\n", "F:2: end of the file: ", "end of sequence flow not found"},
      {"a: [b, [c], 'd' 'e']\n", "F:1: column ", "end of sequence flow not found"},
      {"a: {b: 1\nc: 2\n", "F:2: column ", "end of map flow not found"},
      {"a: ]\n", "F:1: column 4: ", "illegal flow end"},
      {"a: b: c", "F:1: column ", "illegal map value"},
      {"a:\n\t- b", "F:2: ", "YAML allows no tabs here, indent with spaces"},
      {"a: @x", "F:1: column 4: ", "unknown token"},
      {"a: 1\n{% if x %}\n", "F:2: column ", "unknown token"},
      {"a: \"x\nb: 1\n", "F:2: end of the file: ", "illegal document indicator in scalar"},
      {"# don't\na: it's\nc: 'it''s'\nd: 'x\ne: 1", "F:5: end of the file: ", "illegal document indicator"},
      {"a: \"x\n---\nb: 1\n", "F:2: column ", "illegal document indicator in scalar"},
      {"a: 1\nport:8000\nb: 2\n", "F:3: column ", "illegal map value"},
      {"a:\n  b: 2\n  port:8000\nc: 1\n", "F:4: column ", "illegal map value"},
      {"'a':1\nb: 2\n", "F:2: column ", "illegal map value"},
      {"a: 1\nport = 8000\nb: 2\n", "F:3: column ", "illegal map value"},
      {"a:\n  - b\n  -c\n", "F:3: column ", "end of map not found"},
      {"a:\n  b: 1\n   c: 2\n", "F:3: column ", "illegal map value"},
      {"a:\n    b: 1\n  c: 2\n", "F:3: column ", "end of map not found"},
      {"a: 1\n- b\n", "F:2: column ", "end of map not found"},
      {"a: \"x\" y\n", "F:1: column ", "end of map not found"},
      {"a: - b\n", "F:1: column ", "illegal block entry"},
      {"a:\n  - *\n", "F:2: ", "found \"*\" at the start of a value, expected quotes"},
      {"a: *.example\n", "F:1: column ", "the referenced anchor is not defined"},
      {"a: \"C:\\p\"\n", "F:1: column ", "unknown escape character"},
      {"a: |x\n  b\n", "F:1: column ", "unexpected character in block scalar"},
      {"%YAML 9.1\n---\na: 1\n", "F:1: column ", "YAML major version too large"},
  };
  for (const Case& one : cases) {
    INFO(std::string(one.text));
    const std::string message = read(one.text);
    CHECK_MESSAGE(message.starts_with(one.place), message);
    CHECK_MESSAGE(message.find(one.words) != std::string::npos, message);
  }
}

TEST_CASE("the message of the parser shows no part of the text") {
  for (const char* text : {"a: 1\nsesame:sesame\nb: 1\n", "sesame sesame\nb: 1\n", "a: 1\nsesame=sesame",
                           "%YAML sesame\n---\na: 1\n", "a: *sesame\n", "a: \"x\\Usesame\"\n"}) {
    INFO(text);
    CHECK(read(text).starts_with("F:"));
    CHECK(read(text).find("sesame") == std::string::npos);
  }
  CHECK(read("a: \"\\q\"").ends_with(": unknown escape character"));
  CHECK(read("a: \"\\UFFFFFFFF\"").ends_with(": invalid unicode"));
}

TEST_CASE("a last line without a colon and a space is an error") {
  for (const char* text : {"a: 1\nb:5", "a: 1\nb", "a: 1\nb = 5\n", "a:\n  c: 1\n  b\n", "a: |\nb"}) {
    CAPTURE(text);
    CHECK(read(text).find("expected a key with a colon and a space behind it") != std::string::npos);
  }
  CHECK(read("a: 1\nb:") == R"({"a": 1, "b": null})");
  CHECK(read("a: 1\nb: # empty") == R"({"a": 1, "b": null})");
  CHECK(read("a: 1\nb: ~") == R"({"a": 1, "b": null})");
  CHECK(read("? a\n? b\n") == R"({"a": null, "b": null})");
  CHECK(read("{a, b}") == R"({"a": null, "b": null})");
  CHECK(read("a: &x\nb: *x\n") == R"({"a": null, "b": null})");
}

TEST_CASE("nesting is limited") {
  CHECK(read(std::string(10000, '[')) ==
        "F:1: found lists and maps nested more than 100 deep, expected fewer levels");
  CHECK(read(std::string(100, '[') + std::string(100, ']')).starts_with("[["));
  CHECK(read(std::string(101, '[') + std::string(101, ']')) ==
        "F:1: found lists and maps nested more than 100 deep, expected fewer levels");
  // The levels inside of an alias's value count again at each use, so aliases cannot exceed the limit.
  CHECK(read("a: &a " + std::string(90, '[') + std::string(90, ']') + "\nb: " + std::string(20, '[') + "*a" +
             std::string(20, ']')) ==
        "F:2: found lists and maps nested more than 100 deep, expected fewer levels");
}

TEST_CASE("control characters are an error with their line") {
  CHECK(read(std::string_view("a: 1\nb: \0 2", 11)) ==
        "F:2: found the control character \\x00, which YAML does not allow");
  CHECK(read("a: \x04") == "F:1: found the control character \\x04, which YAML does not allow");
  CHECK(read("a: \x7f") == "F:1: found the control character \\x7f, which YAML does not allow");
  CHECK(read("a: 1\r\nb: 2\r\n") == R"({"a": 1, "b": 2})");
}

TEST_CASE("every value has its line, a missing one that of its key") {
  const auto root = *yaml::read("F", "# first\na:\n\n  - 1\n  - x\nb:\n\n\nc: {d: 1}\n");
  CHECK(root.find("a")->place.line == 2);
  CHECK(root.find("a")->value.items[1].place.line == 5);
  CHECK(root.find("b")->value.place.line == 6);
  CHECK(root.find("c")->value.find("d")->place.line == 9);
  CHECK(*root.find("b")->value.place.file == "F");
}

TEST_CASE("numbers keep all digits, and keys are written as by Python's json.dumps") {
  CHECK(read("[1, 9223372036854775808, 0x10, 1:30, 1_0.5]") == "[1, 9223372036854775808, 16, 90, 10.5]");
  CHECK(read("a: [.inf, 0x_]") == R"({"a": [".inf", "0x_"]})");
  std::string described;
  const auto root = *yaml::read("F", "[.inf, 1, -.Inf, .nan, 0xFFFFFFFFFFFFFFFFF]");
  static_cast<void>(to_json(root, [&described](const Node& node) { described += describe(node) + " "; }));
  CHECK(described == ".inf -.Inf .nan 0xFFFFFFFFFFFFFFFFF ");
  CHECK(read("{1: a, yes: b, ~: c, 1.50: d, '2': e, x: f}") ==
        R"({"1": "a", "true": "b", "null": "c", "1.5": "d", "2": "e", "x": "f"})");
  CHECK(read("{1: a, 0x1: b}") == "F:1: found this key twice in one map, first in line 1: \"0x1\"");
}

TEST_CASE("malformed YAML in brackets is an error") {
  CHECK(read("[,]") == "F:1: found a comma, expected a value in front of it");
  CHECK(read("{,}") == "F:1: found a comma, expected a value in front of it");
  CHECK(read("{a: , b}") == R"({"a": null, "b": null})");
  CHECK(read("[:a]") == "F:1: found a colon, expected a value or a key in front of it");
  CHECK(read("[=]") == "F:1: found = without quotes, expected quotes around it or another value");
  CHECK(read("[<<]") == "F:1: found << without quotes, expected quotes around it or another value");
  CHECK(read("{=: 1}") == R"({"=": 1})");
}

TEST_CASE("~ and null are null; yes, true and on are true; no, false and off are false; y and n are text") {
  for (const char* text : {"", "~", "null", "Null", "NULL"}) CHECK(kind_of_plain(text) == Kind::null);
  for (const char* text : {"yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON", "no", "No", "NO",
                           "false", "False", "FALSE", "off", "Off", "OFF"}) {
    CAPTURE(text);
    CHECK(kind_of_plain(text) == Kind::boolean);
    const std::string lowered = lower(text);
    CHECK(to_boolean(text) == (lowered == "yes" || lowered == "true" || lowered == "on"));
  }
  for (const char* text : {"y", "n", "yEs", "oN", "tRUE"}) CHECK(kind_of_plain(text) == Kind::string);
}

TEST_CASE("integers have the values that Salt's loader gives them, and beyond 64 bits they have no value") {
  const std::pair<std::string, std::int64_t> kTable[] = {{"0", 0},
                                                         {"12", 12},
                                                         {"-3", -3},
                                                         {"+4", 4},
                                                         {"0x1F", 31},
                                                         {"-0x1f", -31},
                                                         {"0b101", 5},
                                                         {"0660", 660},
                                                         {"010", 10},
                                                         {"00", 0},
                                                         {"0_7", 7},
                                                         {"-017", -15},
                                                         {"+017", 15},
                                                         {"-00", 0},
                                                         {"-010", -8},
                                                         {"1_000", 1000},
                                                         {"1:30", 90},
                                                         {"190:20:30", 685230},
                                                         {"9223372036854775807", 9223372036854775807}};
  for (const auto& row : kTable) {
    CAPTURE(row.first);
    REQUIRE(kind_of_plain(row.first) == Kind::integer);
    CHECK(to_integer(row.first) == row.second);
    CHECK(to_real(row.first) == static_cast<double>(row.second));
  }
  for (const char* text :
       {"9223372036854775808", "0xFFFFFFFFFFFFFFFFF", "99999999999999999999:30", "9223372036854775807:00"}) {
    CAPTURE(text);
    CHECK(kind_of_plain(text) == Kind::integer);
    CHECK(to_integer(text) == std::nullopt);
  }
  CHECK(to_real("9223372036854775808") == 9223372036854775808.0);
}

TEST_CASE("reals have the values that Salt's loader gives them") {
  const std::pair<std::string, double> kTable[] = {
      {"1.5", 1.5},       {"1.", 1},        {".5", 0.5},        {"-2.25", -2.25},    {"1.5e+3", 1500},
      {"1_0.2_5", 10.25}, {"1:30.5", 90.5}, {".inf", INFINITY}, {"-.Inf", -INFINITY}};
  for (const auto& row : kTable) {
    CAPTURE(row.first);
    REQUIRE(kind_of_plain(row.first) == Kind::real);
    CHECK(to_real(row.first) == row.second);
  }
  CHECK(kind_of_plain(".nan") == Kind::real);
  CHECK(std::isnan(to_real(".NaN")));
}

TEST_CASE("malformed numbers are text") {
  for (const char* text :
       {"1e3", "-.5", "0o660", "08", "1:70", "0x", "+", ".", "2020-01-01", "1 2", "1,000", "="}) {
    CAPTURE(text);
    CHECK(kind_of_plain(text) == Kind::string);
  }
  CHECK(kind_of_plain(std::string(100000, '1')) == Kind::string);
  CHECK(kind_of_plain(std::string(100000, ':')) == Kind::string);
}

Node node(Kind kind, std::string text) {
  Node made;
  made.kind = kind;
  made.text = std::move(text);
  return made;
}

TEST_CASE("values are compared as in Python") {
  CHECK(equal(node(Kind::integer, "1"), node(Kind::real, "1.0")));
  CHECK(equal(node(Kind::integer, "1"), node(Kind::boolean, "yes")));
  CHECK(equal(node(Kind::boolean, "on"), node(Kind::boolean, "TRUE")));
  CHECK(equal(node(Kind::integer, "0x10"), node(Kind::integer, "16")));
  CHECK_FALSE(equal(node(Kind::integer, "9007199254740993"), node(Kind::integer, "9007199254740992")));
  CHECK_FALSE(equal(node(Kind::integer, "1"), node(Kind::string, "1")));
  CHECK_FALSE(equal(node(Kind::null, "null"), node(Kind::string, "null")));
  CHECK(equal(node(Kind::null, "null"), node(Kind::null, "~")));
}

TEST_CASE("describe returns one short line") {
  CHECK(describe(node(Kind::integer, "12")) == "12");
  CHECK(describe(node(Kind::string, "12")) == "\"12\"");
  CHECK(describe(node(Kind::null, "null")) == "nothing");
  CHECK(describe(node(Kind::list, "")) == "a list");
  CHECK(describe(node(Kind::map, "")) == "a map");
  CHECK(describe(node(Kind::string, "a\nb\x1b")) == "\"a\\x0ab\\x1b\"");
  CHECK(in_quotes(std::string(59, 'x') + "äyz") == '"' + std::string(59, 'x') + "...\"");
}

}  // namespace
}  // namespace rest_fcgi::yaml

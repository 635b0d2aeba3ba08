// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "rest_fcgi/lowstate/master_arguments.h"

namespace rest_fcgi::lowstate {
namespace {

struct Row {
  std::string_view text;
  std::string_view json;
};

void check(std::initializer_list<Row> rows) {
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK((*yamlify_scalar(row.text)).text() == row.json);
  }
}

void check_stays_text(std::initializer_list<std::string_view> texts) {
  for (const std::string_view text : texts) {
    CAPTURE(text);
    CHECK(*yamlify_scalar(text) == Json::string(text));
  }
}

TEST_CASE("yamlify reads integers of any base and size, and leading zeros as decimal digits") {
  check({{"0", "0"},
         {"-0", "0"},
         {"+3", "3"},
         {"-5", "-5"},
         {"12345678901234567890123", "12345678901234567890123"}});
  check({{"0x1F", "31"}, {"-0x_1", "-1"}, {"0b101", "5"}, {"5 ", "5"}, {"0x00ff", "255"}});
  check_stays_text({"0xG", "0x", "0b", "0b2", "--5", "+-5", "+", "1_000", "_1", "1_"});
  check_stays_text({std::string(4301, '9')});
  check({{"0644", "644"}, {"007", "7"}, {"00", "0"}, {"-010", "-8"}, {"+010", "8"}});
  check_stays_text({"0899", "09", "0_7", "0o17"});
}

TEST_CASE("yamlify reads floats, whose exponent needs a point and a sign") {
  check({{"1.5", "1.5"},
         {"-1.50", "-1.5"},
         {".5", "0.5"},
         {"5.", "5.0"},
         {"1.0e+3", "1000.0"},
         {"1.5E-7", "1.5e-07"}});
  check({{"-0.0", "-0.0"}, {"100000000000000000.0", "1e+17"}, {"1_0.5", "10.5"}, {"1._5", "1.5"}});
  check_stays_text({"1e3", "1.0e3", "1.0e+", "1.2.3", "-.5", "._5", ".", "..", "10.0.0.1", "1.x", "x.1"});
}

TEST_CASE("yamlify refuses NaN and infinities") {
  for (const std::string_view text :
       {".inf", "-.INF", ".nan", " .nan ", "[.inf]", "{a: .nan}", "1.7976931348623157e+309",
        "0xFFFFFFFFFFFFFFFFF", "99999999999999999999:30"}) {
    CAPTURE(text);
    CHECK(yamlify_scalar(text).error().kind == ErrorKind::invocation);
  }
  check_stays_text({"a: .inf", "[.inf] x", "'.inf", "x .nan"});
  check({{"'.inf'", R"(".inf")"}});
}

TEST_CASE("yamlify reads YAML 1.1's words for null and booleans, and bytes, sets and pairs") {
  check({{"[!!binary aGk=]", R"(["hi"])"},
         {"{a: !!set {x}}", R"({"a": ["x"]})"},
         {"[2001-01-01]", R"(["2001-01-01"])"}});
  check_stays_text({"!!binary aGk=", "[!!python/tuple [1]]", "[!!int x]"});
  check({{"~", "null"}, {"null", "null"}, {"Null", "null"}, {"NULL", "null"}, {"None", "null"}});
  check({{"yes", "true"}, {"On", "true"}, {"TRUE", "true"}, {" true ", "true"}});
  check({{"no", "false"}, {"Off", "false"}, {"False", "false"}});
  check_stays_text({"y", "n", "tRue", "nUll", "nonesuch"});
}

TEST_CASE("yamlify reads base 60 numbers, as YAML 1.1 does") {
  check({{"1:30", "90"},
         {"-1:30", "-90"},
         {"1:30:45", "5445"},
         {"10:5", "605"},
         {"1:30.5", "90.5"},
         {"1_0:30", "630"}});
  check({{"-1:30.5", "-90.5"}, {"1:2:3:4:5:6", "804182706"}});
  check_stays_text({"1:60", "01:30", "0:5", ":30", "1:", "1:x", "1:30.x", "1:123", "_1:30", "x:30"});
  check({{"1:2:3:4:5:6:7", "48250962367"}, {"1234567890:30", "74074073430"}});
}

TEST_CASE("yamlify removes quotes around the whole text only") {
  check({{"'x'", R"("x")"},
         {"\"two\"", R"("two")"},
         {"'it''s'", R"("it's")"},
         {"\"\"", R"("")"},
         {"'5'", R"("5")"}});
  check({{R"("a\nb\x41\u00e9\U0001F600\\\"\t")", "\"a\\nbA\u00e9\U0001F600\\\\\\\"\\t\""}});
  check({{R"("\u20ac\_")", "\"\u20ac\u00a0\""}});
  check_stays_text({"'a' b", "\"a\": 1", "'open", "\"open", R"("\q")", R"("\u12")", R"("\uZZZZ")",
                    R"("\ud83d")", R"("\U00110000")", R"("\)"});
}

TEST_CASE("yamlify reads lists and objects in brackets, and writes keys as Python's json.dumps") {
  check({{"[1, 2]", "[1, 2]"}, {"[]", "[]"}, {"[ ]", "[]"}, {"[a, b c, 'd',]", R"(["a", "b c", "d"])"}});
  check({{"[1]#x", "[1]"}, {"[a: 1]", R"([{"a": 1}])"}, {"[?a]", R"([{"a": null}])"}});
  check({{"[1] ", "[1]"},
         {"[a#b]", R"(["a#b"])"},
         {"[http://x:80]", R"(["http://x:80"])"},
         {"[-, -a]", R"(["-", "-a"])"}});
  check({{"{a: 1, b: [x, {c: yes}]}", R"({"a": 1, "b": ["x", {"c": true}]})"},
         {"{}", "{}"},
         {"{ a: 1 }", R"({"a": 1})"}});
  check({{R"({"a":1,"b":[true,null]})", R"({"a": 1, "b": [true, null]})"}, {"{'a': b,}", R"({"a": "b"})"}});
  check({{"{a}", R"({"a": null})"}, {"{a: }", R"({"a": null})"}, {"{a:1}", R"({"a:1": null})"}});
  check({{"{1: a}", R"({"1": "a"})"},
         {"{yes: a}", R"({"true": "a"})"},
         {"{null: a}", R"({"null": "a"})"},
         {"{1.50: a}", R"({"1.5": "a"})"}});
}

TEST_CASE("yamlify keeps brackets that are not valid YAML") {
  check_stays_text({"[1",           "{a: 1",    "]",       "}",       "[,]",     "{,}",  "{a: 1}}", "[1] x",
                    "{a: 1, a: 2}", "{[a]: 1}", " [1]",    " {a: 1}", "[- a]",   "[:a]", "[*a]",    "[=]",
                    "[<<]",         "['a]",     "{'a: 1}", "{a: ]}",  "{a: 'b}", "{",    "[",       "{a b",
                    "{a: [}"});
  check_stays_text({std::string(200, '[') + std::string(200, ']')});
}

TEST_CASE("yamlify refuses aliases in brackets; elsewhere they are part of a text") {
  for (const std::string_view text :
       {"{a: &x [1,2], b: *x}", "[&a 1, *a, *a]", "{a: &a {x: 1}, b: {<<: *a}}"}) {
    CAPTURE(text);
    const Error error = yamlify_scalar(text).error();
    CHECK(error.kind == ErrorKind::invocation);
    CHECK(error.message.find("alias") != std::string::npos);
  }
  check_stays_text({"a: [&a 1, *a]", " [&a 1, *a]", "[*a]", "ls *.sh && rm *.sh"});
  check({{"[&a 1, 2]", "[1, 2]"}});
}

TEST_CASE("yamlify keeps other YAML, and text that YAML would cut, and removes blanks around it") {
  check_stays_text(
      {"a: b", "a:", " a: b ", "- a", "-", "?", "? a", "&a b", "*a", "!x", "|", ">", "@a", "%a", "`a"});
  check_stays_text({"", "   ", "---", "...", "#x", "a #b", "'a' #b", "a\tb", "5\n", "~ #x"});
  check({{"5 #b", "5"}, {"[1] #x", "[1]"}});
  check({{"  a  b ", R"("a  b")"}, {"\u00e9 ", "\"\u00e9\""}});
}

TEST_CASE("only a name, one equals sign and a value are a keyword argument") {
  const auto pair = [](std::string_view name, std::string_view value) {
    return std::optional(std::pair(name, value));
  };
  CHECK(split_keyword("a=1") == pair("a", "1"));
  CHECK(split_keyword("_a.b-c2=x=y") == pair("_a.b-c2", "x=y"));
  CHECK(split_keyword("a=") == pair("a", ""));
  CHECK(split_keyword("\u00e9=1") == pair("\u00e9", "1"));
  CHECK(split_keyword("a=1\n") == pair("a", "1"));
  for (const std::string_view text :
       {"", "a", "a==1", "1a=2", "=1", "a b=1", "-a=1", ".a=1", "a=1\n2", "a/b=1"}) {
    CAPTURE(text);
    CHECK_FALSE(split_keyword(text).has_value());
  }
}

}  // namespace
}  // namespace rest_fcgi::lowstate

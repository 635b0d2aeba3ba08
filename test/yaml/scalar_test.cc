// SPDX-License-Identifier: MIT
#include <cmath>
#include <string>

#include <doctest/doctest.h>

#include "rest_fcgi/yaml/yaml.h"

namespace rest_fcgi::yaml {
namespace {

TEST_CASE("null is written in five ways") {
  for (const char* text : {"", "~", "null", "Null", "NULL"}) CHECK(kind_of_plain(text) == Kind::null);
}

TEST_CASE("yes, true and on are true; no, false and off are false; y and n are text") {
  for (const char* text : {"yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}) {
    CAPTURE(text);
    CHECK(kind_of_plain(text) == Kind::boolean);
    CHECK(to_boolean(text));
  }
  for (const char* text : {"no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"}) {
    CAPTURE(text);
    CHECK(kind_of_plain(text) == Kind::boolean);
    CHECK_FALSE(to_boolean(text));
  }
  for (const char* text : {"y", "n", "yEs", "oN", "tRUE"}) CHECK(kind_of_plain(text) == Kind::string);
}

TEST_CASE("integers have the values that Salt's loader gives them") {
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
}

TEST_CASE("an integer beyond 64 bits has no value") {
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

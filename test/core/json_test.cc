// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/json.h"

#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <doctest/doctest.h>

#include "rest_fcgi/core/json_document.h"

using rest_fcgi::Json;
using rest_fcgi::JsonDocument;
using rest_fcgi::JsonLimits;
using rest_fcgi::JsonValue;
using rest_fcgi::JsonWriter;
using rest_fcgi::python_float;

TEST_CASE("JsonWriter writes commas and spaces like Python's json.dumps") {
  std::string out;
  JsonWriter writer(out);
  writer.begin_object().key("a").begin_array().integer(1).string("b ").null().end_array();
  writer.key("c").begin_object().end_object().key(" ").boolean(true).key("n").number(0.5).end_object();
  CHECK(out == R"({"a": [1, "b ", null], "c": {}, " ": true, "n": 0.5})");
}

TEST_CASE("strings are escaped as by Python without ensure_ascii, and malformed UTF-8 becomes U+FFFD") {
  CHECK(Json::string("\"\\/\b\f\n\r\t\x01\x1f\x7f").text() ==
        "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"");
  CHECK(Json::string("\xE2\x80\xA8").text() == "\"\xE2\x80\xA8\"");
  CHECK(Json::string("a\xFF"
                     "b")
            .text() ==
        "\"a\xEF\xBF\xBD"
        "b\"");
  CHECK(Json::string("\xC0\x80").text() == "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
  CHECK(Json::string("\xED\xA0\x80").text() == "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
  CHECK(Json::string("\xE2\x82").text() == "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
  CHECK(Json::string("\xF0\x9F\x98\x80\xF4\x90\x80\x80").text().substr(0, 5) == "\"\xF0\x9F\x98\x80");
}

TEST_CASE("a byte is escaped at any position") {
  const auto inside = [](const std::string& text) {
    const std::string json = Json::string(text).text();
    return json.substr(1, json.size() - 2);
  };
  for (int code = 0; code < 0x80; ++code) {
    const std::string one(1, static_cast<char>(code));
    for (std::size_t before = 0; before < 10; ++before) {
      for (const std::string beside : {"a", "!", " ", "\x7F"}) {
        std::string left, right;
        for (std::size_t i = 0; i < before; ++i) left += beside;
        for (std::size_t i = before; i < 20; ++i) right += beside;
        CHECK(inside(left + one + right) == left + inside(one) + right);
      }
    }
  }
}

TEST_CASE("floats are written as Python's repr, and NaN and infinities become null") {
  CHECK(python_float(1) == "1.0");
  CHECK(python_float(0.1) == "0.1");
  CHECK(python_float(-2.5) == "-2.5");
  CHECK(python_float(1e16) == "1e+16");
  CHECK(python_float(123456789012345.0) == "123456789012345.0");
  CHECK(python_float(9999999999999998) == "9999999999999998.0");
  CHECK(python_float(0.0001) == "0.0001");
  CHECK(python_float(0.00001) == "1e-05");
  CHECK(python_float(1e-7) == "1e-07");
  CHECK(python_float(5e-324) == "5e-324");
  CHECK(python_float(1.7976931348623157e308) == "1.7976931348623157e+308");
  CHECK(python_float(-0.0) == "-0.0");
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    CHECK(rest_fcgi::written_json([value](JsonWriter& writer) { writer.number(value); }).text() == "null");
  }
}

namespace {

/// Returns the text as JsonWriter writes it, or the error message for invalid text.
std::string reread(std::string_view text, const JsonLimits& limits = {}) {
  JsonDocument document;
  if (const auto result = document.parse(text, limits); !result) return result.error().message;
  return document.root().json().text();
}

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

}  // namespace

TEST_CASE("JSON is written as by Python's json.dumps, and integers keep all their digits") {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"[]", "[]"},
      {"{}", "{}"},
      {" [1,2 , 3] ", "[1, 2, 3]"},
      {R"({"a":{"b":[true,false,null]},"c":""})", R"({"a": {"b": [true, false, null]}, "c": ""})"},
      {R"("caf\u00e9 \ud83d\ude00 \/ \u001f\n")", "\"caf\xC3\xA9 \xF0\x9F\x98\x80 / \\u001f\\n\""},
      {"42", "42"},
      {" \"x\" ", "\"x\""},
      {"true", "true"},
      {"null", "null"},
      {"-1.5e3 \n", "-1500.0"},
      {"[123456789012345678901234567890]", "[123456789012345678901234567890]"},
      {"[-9223372036854775808,18446744073709551616]", "[-9223372036854775808, 18446744073709551616]"},
      {"[-0]", "[0]"},
      {"[1.0,1e5,1E16,1e-7,-0.0,1e-400]", "[1.0, 100000.0, 1e+16, 1e-07, -0.0, 0.0]"},
      {R"({"a":1,"a":2})", R"({"a": 2})"},
      {R"({"a":1,"b":{"x":1,"x":[]},"\u0061":3})", R"({"b": {"x": []}, "a": 3})"},
  };
  for (const auto& [text, written] : rows) CHECK(reread(text) == written);
}

TEST_CASE("of equal keys the last one counts") {
  JsonDocument document;
  REQUIRE(document.parse(R"({"a":1,"b":0,"a":2,"a":3})"));
  CHECK(document.root().size() == 2);
  CHECK(document.root().find("a")->integer() == 3);
}

TEST_CASE("malformed JSON, numbers and strings are refused with line and column") {
  CHECK(reread("") == "Expecting value: line 1, column 1");
  CHECK(reread("   ") == "Expecting value: line 1, column 1");
  CHECK(reread("nope") == "Expecting value: line 1, column 1");
  CHECK(reread("[1, nope]") == "Expecting value: line 1, column 5");
  CHECK(reread("[1] x") == "Extra data: line 1, column 5");
  CHECK(reread("\xEF\xBB\xBF[]") == "[]");
  CHECK(reread("\xEF\xBB\xBF[x]") == "Expecting value: line 1, column 2");
  CHECK(reread("[1,\n \"\xC3\xA9\", x]") == "Expecting value: line 2, column 7");
  for (const std::string word : {"NaN", "Infinity", "-Infinity"}) {
    const std::string sentence =
        "found " + word + ", which JSON does not have; expected a finite number: line 1, column ";
    CHECK(reread(word) == sentence + "1");
    CHECK(reread("[1, " + word + "]") == sentence + "5");
    CHECK(reread("{\"a\": " + word + "}") == sentence + "7");
    CHECK(reread("[\"" + word + "\", nope]").starts_with("Expecting value"));
  }
  CHECK(reread("42 43") == "Expecting value: line 1, column 1");
  CHECK(reread("[1 2]") == "Expecting ',' or ']': line 1, column 4");
  CHECK(reread("[1") == "Expecting ',' or ']': line 1, column 3");
  for (const std::string_view text :
       {R"([{1: 2}])", R"([{"a" 1}])", R"([{"a": 1 "b": 2}])", R"([{"a": 1,}])", R"([{"a": 1)"}) {
    CAPTURE(text);
    CHECK(reread(text).starts_with("Expecting ',' or '}', or a key in quotes and ':': line 1, column "));
  }
  CHECK(reread(R"([1,])") == "Expecting value: line 1, column 4");
  CHECK(reread("[\"a]").find("line 1, column ") != std::string::npos);
  CHECK(reread("[\"a\\\"\nb\"]") ==
        "Control character inside a string, expected an escape such as \\n: line 1, column 6");
  CHECK(reread("[\"\xC3\xA9\xFF\"]") == "Not UTF-8: line 1, column 4");
  for (const char* text :
       {"[nan]", "[inf]", "[-inf]", "[01]", "[+1]", "[.5]", "[1.]", "[1e]", "[0x10]", "[1_000]"}) {
    CHECK(reread(text) == "Expecting value: line 1, column 2");
  }
  CHECK(reread("[1e400]") == "Number out of range: line 1, column 2");
  CHECK(reread("[1E400]") == "Number out of range: line 1, column 2");
  CHECK(reread("[1" + std::string(400, '0') + ".0]") == "Number out of range: line 1, column 2");
  CHECK(reread("[1" + std::string(300, '0') + ".0]") == "[1e+300]");
  for (const char* text : {R"(["\ud800"])", R"(["\udc00x"])", R"(["\x41"])", R"(["\u12"])"}) {
    CHECK(reread(text) == "Invalid string: a bad escape, or a lone surrogate: line 1, column 2");
  }
}

TEST_CASE("nesting, the length of keys and numbers, and the number of values and keys are limited") {
  const JsonLimits depth{.max_depth = 10};
  const JsonLimits length{.max_key_length = 3, .max_number_length = 4};
  const JsonLimits values{.max_values = 4};
  const std::tuple<std::string, JsonLimits, std::string> rows[] = {
      {nested(10), depth, nested(10)},
      {nested(11), depth, "Nested deeper than 10 arrays and objects: line 1, column 11"},
      {std::string(100000, '['), depth, "Nested deeper than 10 arrays and objects: line 1, column 11"},
      {R"({"abc": 1234})", length, R"({"abc": 1234})"},
      {R"({"abcd":1})", length, "Object key of 4 bytes, at most 3 are accepted: line 1, column 2"},
      {"[12345]", length, "Number of 5 characters, at most 4 are accepted: line 1, column 2"},
      {"[1, 2, 3]", values, "[1, 2, 3]"},
      {R"({"a": [true]})", values, R"({"a": [true]})"},
      {"[1, 2, 3, 4]", values, "More than 4 values and keys: line 1, column 11"},
      {"[1, 2, 3, {}]", values, "More than 4 values and keys: line 1, column 11"},
      {R"({"a": 1, "b": 2})", values, "More than 4 values and keys: line 1, column 15"}};
  for (const auto& [text, limits, outcome] : rows) CHECK(reread(text, limits) == outcome);
}

TEST_CASE("a document can be parsed again") {
  JsonDocument document;
  REQUIRE(document.parse(R"(["first", 1])"));
  REQUIRE_FALSE(document.parse("nonsense"));
  CHECK(document.root().is(JsonValue::Kind::null));
  REQUIRE(document.parse("[" + std::string(300000, ' ') + "7]"));
  CHECK(document.root().json().text() == "[7]");
  document.clear();
  CHECK(document.root().is(JsonValue::Kind::null));
  REQUIRE(document.parse("[8]"));
  CHECK(document.root().json().text() == "[8]");
}

TEST_CASE("values have Python's type names, str and repr") {
  JsonDocument document;
  REQUIRE(document.parse(R"([null,true,1,1.5,"s",[],{}])"));
  std::string names;
  for (const JsonValue value : document.root().elements()) names += std::string(value.type_name()) + " ";
  CHECK(names == "NoneType bool int float str list dict ");
  JsonDocument texts;
  REQUIRE(texts.parse(R"(["it's", "\"", "a\n", null, true, 1e5, {"k": ["v", 7]}, []])"));
  CHECK(texts.root().python_str() == R"(["it's", '"', 'a\n', None, True, 100000.0, {'k': ['v', 7]}, []])");
  CHECK(texts.root().elements().begin().operator*().python_str() == "it's");
}

TEST_CASE("numbers are converted if they fit") {
  JsonDocument document;
  REQUIRE(document.parse(R"({"i": -12, "big": 99999999999999999999, "r": 2.5, "s": "12"})"));
  const JsonValue root = document.root();
  CHECK(root.find("i")->integer() == -12);
  CHECK_FALSE(root.find("big")->integer().has_value());
  CHECK(root.find("big")->number() == 1e20);
  CHECK(root.find("r")->number() == 2.5);
  CHECK_FALSE(root.find("r")->integer().has_value());
  CHECK_FALSE(root.find("s")->integer().has_value());
  CHECK_FALSE(root.find("nothing").has_value());
}

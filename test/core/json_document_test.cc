// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/json_document.h"

#include <string>

#include <doctest/doctest.h>

using rest_fcgi::JsonDocument;
using rest_fcgi::JsonLimits;
using rest_fcgi::JsonValue;

namespace {

/// Parses the text and returns the text that JsonWriter writes. Returns the error message for invalid text.
std::string reread(std::string_view text, const JsonLimits& limits = {}) {
  JsonDocument document;
  if (const auto result = document.parse(text, limits); !result) return result.error().message;
  return document.root().json().text();
}

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

}  // namespace

TEST_CASE("JSON is written as by Python's json.dumps") {
  CHECK(reread(R"([])") == "[]");
  CHECK(reread(R"({})") == "{}");
  CHECK(reread(R"( [1,2 , 3] )") == "[1, 2, 3]");
  CHECK(reread(R"({"a":{"b":[true,false,null]},"c":""})") == R"({"a": {"b": [true, false, null]}, "c": ""})");
  CHECK(reread(R"("caf\u00e9 \ud83d\ude00 \/ \u001f\n")") == "\"caf\xC3\xA9 \xF0\x9F\x98\x80 / \\u001f\\n\"");
}

TEST_CASE("a document may be a single scalar") {
  CHECK(reread("42") == "42");
  CHECK(reread(" \"x\" ") == "\"x\"");
  CHECK(reread("true") == "true");
  CHECK(reread("null") == "null");
  CHECK(reread("-1.5e3 \n") == "-1500.0");
}

TEST_CASE("integers keep all their digits") {
  CHECK(reread("[123456789012345678901234567890]") == "[123456789012345678901234567890]");
  CHECK(reread("[-9223372036854775808,18446744073709551616]") ==
        "[-9223372036854775808, 18446744073709551616]");
  CHECK(reread("[-0]") == "[0]");
}

TEST_CASE("reals are written as by Python") {
  CHECK(reread("[1.0,1e5,1E16,0.1,1e-7,-0.0,1e-400]") == "[1.0, 100000.0, 1e+16, 0.1, 1e-07, -0.0, 0.0]");
}

TEST_CASE("of equal keys the last one counts") {
  CHECK(reread(R"({"a":1,"a":2})") == R"({"a": 2})");
  CHECK(reread(R"({"a":1,"b":{"x":1,"x":[]},"\u0061":3})") == R"({"b": {"x": []}, "a": 3})");
  JsonDocument document;
  REQUIRE(document.parse(R"({"a":1,"b":0,"a":2,"a":3})"));
  CHECK(document.root().size() == 2);
  CHECK(document.root().find("a")->integer() == 3);
}

TEST_CASE("malformed JSON is refused with the byte offset") {
  CHECK(reread("") == "Expecting value: byte 0");
  CHECK(reread("   ") == "Expecting value: byte 0");
  CHECK(reread("nope") == "Expecting value: byte 0");
  CHECK(reread("[1, nope]") == "Expecting value: byte 4");
  CHECK(reread("[1] x") == "Extra data: byte 4");
  for (const std::string word : {"NaN", "Infinity", "-Infinity"}) {
    const std::string sentence =
        "found " + word + ", which JSON does not have; expected a finite number: byte ";
    CHECK(reread(word) == sentence + "0");
    CHECK(reread("[1, " + word + "]") == sentence + "4");
    CHECK(reread("{\"a\": " + word + "}") == sentence + "6");
    CHECK(reread("[\"" + word + "\", nope]").starts_with("Expecting value"));
  }
  CHECK(reread("42 43") == "Expecting value: byte 0");
  CHECK(reread("[1 2]") == "Expecting ',' or ']': byte 3");
  CHECK(reread("[1") == "Expecting ',' or ']': byte 2");
  for (const std::string_view text :
       {R"([{1: 2}])", R"([{"a" 1}])", R"([{"a": 1 "b": 2}])", R"([{"a": 1,}])", R"([{"a": 1)"}) {
    CAPTURE(text);
    CHECK(reread(text).starts_with("Expecting ',' or '}', or a key in quotes and ':': byte "));
  }
  CHECK(reread(R"([1,])") == "Expecting value: byte 3");
  CHECK(reread("[\"a]").find("byte") != std::string::npos);
  CHECK(reread("[\"a\\\"\nb\"]") ==
        "Control character inside a string, expected an escape such as \\n: byte 5");
  CHECK(reread("[\"\xC3\xA9\xFF\"]") == "Not UTF-8: byte 4");
}

TEST_CASE("malformed numbers are refused") {
  for (const char* text :
       {"[nan]", "[inf]", "[-inf]", "[01]", "[+1]", "[.5]", "[1.]", "[1e]", "[0x10]", "[1_000]"}) {
    CAPTURE(text);
    CHECK(reread(text) == "Expecting value: byte 1");
  }
  CHECK(reread("[1e400]") == "Number out of range: byte 1");
  CHECK(reread("[1E400]") == "Number out of range: byte 1");
  CHECK(reread("[1" + std::string(400, '0') + ".0]") == "Number out of range: byte 1");
  CHECK(reread("[1" + std::string(300, '0') + ".0]") == "[1e+300]");
}

TEST_CASE("lone surrogates and bad escapes are refused") {
  for (const char* text : {R"(["\ud800"])", R"(["\udc00x"])", R"(["\x41"])", R"(["\u12"])"}) {
    CAPTURE(text);
    CHECK(reread(text) == "Invalid string: a bad escape, or a lone surrogate: byte 1");
  }
}

TEST_CASE("nesting is limited") {
  const JsonLimits limits{.max_depth = 10};
  CHECK(reread(nested(10), limits) == nested(10));
  CHECK(reread(nested(11), limits) == "Nested deeper than 10 arrays and objects: byte 10");
  CHECK(reread(std::string(100000, '['), limits).find("byte") != std::string::npos);
}

TEST_CASE("the length of keys and numbers is limited") {
  const JsonLimits limits{.max_key_length = 3, .max_number_length = 4};
  CHECK(reread(R"({"abc":1234})", limits) == R"({"abc": 1234})");
  CHECK(reread(R"({"abcd":1})", limits) == "Object key of 4 bytes, at most 3 are accepted: byte 1");
  CHECK(reread(R"([12345])", limits) == "Number of 5 characters, at most 4 are accepted: byte 1");
}

TEST_CASE("the number of values and keys is limited") {
  const JsonLimits limits{.max_values = 4};
  CHECK(reread("[1, 2, 3]", limits) == "[1, 2, 3]");
  CHECK(reread("{\"a\": [true]}", limits) == "{\"a\": [true]}");
  CHECK(reread("[1, 2, 3, 4]", limits) == "More than 4 values and keys: byte 10");
  CHECK(reread("[1, 2, 3, {}]", limits) == "More than 4 values and keys: byte 10");
  CHECK(reread("{\"a\": 1, \"b\": 2}", limits) == "More than 4 values and keys: byte 14");
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

TEST_CASE("values have Python's type names") {
  JsonDocument document;
  REQUIRE(document.parse(R"([null,true,1,1.5,"s",[],{}])"));
  std::string names;
  for (const JsonValue value : document.root().elements()) names += std::string(value.type_name()) + " ";
  CHECK(names == "NoneType bool int float str list dict ");
}

TEST_CASE("values have Python's str and repr") {
  JsonDocument document;
  REQUIRE(document.parse(R"(["it's", "\"", "a\n", null, true, 1e5, {"k": ["v", 7]}, []])"));
  CHECK(document.root().python_str() == R"(["it's", '"', 'a\n', None, True, 100000.0, {'k': ['v', 7]}, []])");
  CHECK(document.root().elements().begin().operator*().python_str() == "it's");
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

// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/json.h"

#include <limits>
#include <string>

#include <doctest/doctest.h>

using rest_fcgi::Json;
using rest_fcgi::JsonWriter;
using rest_fcgi::python_float;

TEST_CASE("JsonWriter writes commas and spaces like Python's json.dumps") {
  std::string out;
  JsonWriter writer(out);
  writer.begin_object().key("a").begin_array().integer(1).string("b ").null().end_array();
  writer.key("c").begin_object().end_object().key(" ").boolean(true).key("n").number(0.5).end_object();
  CHECK(out == R"({"a": [1, "b ", null], "c": {}, " ": true, "n": 0.5})");
}

TEST_CASE("strings are escaped as Python escapes them without ensure_ascii") {
  CHECK(Json::string("\"\\/\b\f\n\r\t\x01\x1f\x7f").text() ==
        "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"");
  CHECK(Json::string("\xE2\x80\xA8").text() == "\"\xE2\x80\xA8\"");
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

TEST_CASE("bytes that are not UTF-8 become U+FFFD") {
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

TEST_CASE("floats are written as Python's repr") {
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
}

TEST_CASE("NaN and infinities become null") {
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    CHECK(rest_fcgi::written_json([value](JsonWriter& writer) { writer.number(value); }).text() == "null");
  }
}

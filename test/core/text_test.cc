// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/text.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace rest_fcgi;

TEST_CASE("lower changes only ASCII letters") {
  CHECK(lower("Keep-ALIVE \xC3\x84[") == "keep-alive \xC3\x84[");
  CHECK(equal_without_case("WebSocket", "wEBsOCKET"));
  CHECK_FALSE(equal_without_case("websocket", "websockets"));
  CHECK_FALSE(equal_without_case("[", "{"));
}

TEST_CASE("next_token splits at separators, and trimmed removes blanks") {
  std::string_view rest = " a ,\t,b";
  CHECK(trimmed(next_token(rest, ',')) == "a");
  CHECK(trimmed(next_token(rest, ',')).empty());
  CHECK(next_token(rest, ',') == "b");
  CHECK(rest.empty());
  CHECK(next_token(rest, ',').empty());
}

TEST_CASE("parse_number needs the whole text to be a number") {
  CHECK(parse_number<int>("-7") == -7);
  CHECK(parse_number<double>("0.5") == 0.5);
  CHECK(parse_number<std::uint16_t>("65535") == 65535);
  for (const char* const text : {"", "65536", "-1", "+1", " 1", "1 ", "1x", "0x1"}) {
    INFO(text);
    CHECK_FALSE(parse_number<std::uint16_t>(text));
  }
}

TEST_CASE("joined puts a separator between texts") {
  using Names = std::vector<std::string>;
  CHECK(joined(Names{"a", "b", "c"}, " or ") == "a or b or c");
  CHECK(joined(Names{"a"}) == "a");
  CHECK(joined(Names{}).empty());
}

TEST_CASE("stripped removes Python's white space at both ends") {
  CHECK(stripped(" \t\r\n\v\fa b ") == "a b");
  CHECK(stripped("a") == "a");
  CHECK(stripped(" \n").empty());
}

// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/text.h"

#include <cstdint>
#include <string_view>

#include <doctest/doctest.h>

using namespace rest_fcgi;

TEST_CASE("ASCII letters are the same in either case, and no other bytes are") {
  CHECK(lower("Keep-ALIVE \xC3\x84[") == "keep-alive \xC3\x84[");
  CHECK(equal_without_case("WebSocket", "wEBsOCKET"));
  CHECK_FALSE(equal_without_case("websocket", "websockets"));
  CHECK_FALSE(equal_without_case("[", "{"));
}

TEST_CASE("a text is taken apart at separators, and its parts have no blanks around them") {
  std::string_view rest = " a ,\t,b";
  CHECK(trimmed(take_part(rest, ',')) == "a");
  CHECK(trimmed(take_part(rest, ',')).empty());
  CHECK(take_part(rest, ',') == "b");
  CHECK(rest.empty());
  CHECK(take_part(rest, ',').empty());
}

TEST_CASE("a number is all of its text") {
  CHECK(number_in<int>("-7") == -7);
  CHECK(number_in<double>("0.5") == 0.5);
  CHECK(number_in<std::uint16_t>("65535") == 65535);
  for (const char* const text : {"", "65536", "-1", "+1", " 1", "1 ", "1x", "0x1"}) {
    INFO(text);
    CHECK_FALSE(number_in<std::uint16_t>(text));
  }
}

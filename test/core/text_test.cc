// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/text.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "rest_fcgi/core/excerpt.h"

using namespace rest_fcgi;

TEST_CASE("lower changes only ASCII letters") {
  CHECK(lower("Keep-ALIVE \xC3\x84[") == "keep-alive \xC3\x84[");
  CHECK(equal_without_case("WebSocket", "wEBsOCKET"));
  CHECK_FALSE(equal_without_case("websocket", "websockets"));
  CHECK_FALSE(equal_without_case("[", "{"));
}

TEST_CASE("texts are split at separators, joined, trimmed of blanks, and stripped of Python's white space") {
  std::string_view rest = " a ,\t,b";
  CHECK(trimmed(next_token(rest, ',')) == "a");
  CHECK(trimmed(next_token(rest, ',')).empty());
  CHECK(next_token(rest, ',') == "b");
  CHECK(rest.empty());
  CHECK(next_token(rest, ',').empty());
  using Names = std::vector<std::string>;
  CHECK(joined(Names{"a", "b", "c"}, " or ") == "a or b or c");
  CHECK(joined(Names{"a"}) == "a");
  CHECK(joined(Names{}).empty());
  CHECK(stripped(" \t\r\n\v\fa b ") == "a b");
  CHECK(stripped("a") == "a");
  CHECK(stripped(" \n").empty());
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

TEST_CASE("an excerpt cuts long text between characters and adds three dots") {
  struct Row {
    std::string_view text;
    std::size_t size;
    std::string_view excerpt;
  };
  for (const Row& row : {Row{"", 3, ""},
                         {"abc", 3, "abc"},
                         {"abcd", 3, "abc..."},
                         {"a\u00e4b", 2, "a..."},
                         {"a\u20acb", 3, "a..."},
                         {"a\u20acb", 4, "a\u20ac..."},
                         {"\x80\x80\x80\x80", 2, "..."}}) {
    CAPTURE(row.text);
    CHECK(excerpt(row.text, row.size) == row.excerpt);
  }
  CHECK(quoted_excerpt(std::string(64, 'x')) == "'" + std::string(64, 'x') + "'");
  CHECK(quoted_excerpt(std::string(65, 'x')) == "'" + std::string(64, 'x') + "...'");
}

TEST_CASE("percent_byte decodes %XX") {
  CHECK(percent_byte("%41") == 'A');
  CHECK(percent_byte("%fFx") == '\xff');
  for (const char* const none : {"", "%", "%4", "%4g", "%g4", "%-1", "A41", "% 4"}) {
    CHECK_MESSAGE(!percent_byte(none), none);
  }
}

TEST_CASE("percent_decoded keeps malformed escapes and converts plus signs on request") {
  CHECK(percent_decoded("a+%2B%zz%4") == "a++%zz%4");
  CHECK(percent_decoded("a+%2B%zz%4", Plus::blank) == "a +%zz%4");
  CHECK(percent_decoded("%00%c3%a4") == std::string("\0\xc3\xa4", 3));
}

TEST_CASE("percent_encoded keeps unreserved characters and the given ones") {
  CHECK(percent_encoded("aZ09-._~/ %\xc3\xa4+") == "aZ09-._~%2F%20%25%C3%A4%2B");
  CHECK(percent_encoded("/a b", "/") == "/a%20b");
}

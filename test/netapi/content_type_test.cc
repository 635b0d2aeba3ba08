// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "netapi/replies.h"

using rest_fcgi::netapi::is_json;

TEST_CASE("JSON is JSON in any case, with any parameters") {
  for (const std::string type :
       {"application/json", "Application/JSON", " application/json ", "application/json;",
        "application/json; version=1", "application/json;a=\"x;charset=latin1\"",
        "application/json; a=\"\\\";charset=latin1\"", "application/json; charset"}) {
    CHECK_MESSAGE(is_json(type), type);
  }
}

TEST_CASE("the charset may be utf-8, quoted or not, and no other") {
  for (const std::string charset : {"utf-8", "UTF-8", "\"utf-8\"", "\"Utf-8\""}) {
    CHECK_MESSAGE(is_json("application/json; charset=" + charset), charset);
    CHECK_MESSAGE(is_json("application/json ;CHARSET=" + charset + " ;x=y"), charset);
  }
  for (const std::string charset : {"latin1", "utf-16", "\"latin1\"", "", "\"utf-8"}) {
    CHECK_MESSAGE(!is_json("application/json; charset=" + charset), charset);
  }
}

TEST_CASE("anything else is not JSON") {
  for (const std::string type :
       {"", "text/plain", "application/jsonx", "application", "json", ";application/json",
        "application/x-www-form-urlencoded", "application/json, text/plain"}) {
    CHECK_MESSAGE(!is_json(type), type);
  }
}

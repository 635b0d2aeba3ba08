// SPDX-License-Identifier: MIT
#include "rest_fcgi/http/application.h"

#include <doctest/doctest.h>

using rest_fcgi::http::Environ;
using rest_fcgi::http::http_date;
using rest_fcgi::http::may_have_body;
using rest_fcgi::http::reason;
using rest_fcgi::http::Status;

TEST_CASE("a variable has the value that was set, byte for byte, and an unset variable is empty") {
  Environ request;
  request.set("QUERY_STRING", "");
  request.set("HTTP_ACCEPT_LANGUAGE", "a=b \xC3\xA4");
  CHECK(request.get("HTTP_ACCEPT_LANGUAGE") == "a=b \xC3\xA4");
  CHECK(request.get("QUERY_STRING").empty());
  CHECK(request.get("HTTP_ACCEPT").empty());
  CHECK(request.get("http_accept_language").empty());
  CHECK(request.get("").empty());
  REQUIRE(request.body);
  CHECK(request.body->empty());
}

TEST_CASE("all returns variables in order, and get returns the last value of a variable") {
  Environ request;
  request.set("A", "1");
  request.set("B", "");
  request.set("A", "2");
  const auto all = request.all();
  REQUIRE(all.size() == 3);
  CHECK(all[0] == std::pair<std::string_view, std::string_view>("A", "1"));
  CHECK(all[1] == std::pair<std::string_view, std::string_view>("B", ""));
  CHECK(all[2] == std::pair<std::string_view, std::string_view>("A", "2"));
  CHECK(request.get("A") == "2");
}

TEST_CASE("a status has its reason phrase") {
  CHECK(reason(Status::ok) == "OK");
  CHECK(reason(Status::content_too_large) == "Request Entity Too Large");
  CHECK(reason(static_cast<Status>(299)) == "Unknown");
}

TEST_CASE("204 and 304 have no body") {
  CHECK(!may_have_body(Status::no_content));
  CHECK(!may_have_body(Status::not_modified));
  CHECK(may_have_body(Status::ok));
  CHECK(may_have_body(Status::not_found));
}

TEST_CASE("http_date does not depend on the locale") {
  CHECK(http_date(std::chrono::system_clock::from_time_t(784111777)) == "Sun, 06 Nov 1994 08:49:37 GMT");
  CHECK(http_date(std::chrono::system_clock::from_time_t(0)) == "Thu, 01 Jan 1970 00:00:00 GMT");
}

// SPDX-License-Identifier: MIT
#include "rest_fcgi/http/environ.h"

#include <string>

#include <doctest/doctest.h>

using rest_fcgi::Error;
using rest_fcgi::ErrorKind;
using rest_fcgi::http::Environ;

TEST_CASE("a variable has the value that was set, byte for byte") {
  Environ environ;
  environ.set("REQUEST_METHOD", "POST");
  environ.set("HTTP_X", "a=b \xC3\xA4");
  CHECK(environ.get("REQUEST_METHOD") == "POST");
  CHECK(environ.get("HTTP_X") == "a=b \xC3\xA4");
}

TEST_CASE("a variable that was not sent reads as an empty one") {
  Environ environ;
  environ.set("QUERY_STRING", "");
  CHECK(environ.get("QUERY_STRING").empty());
  CHECK(environ.get("CONTENT_TYPE").empty());
  CHECK(environ.get("").empty());
}

TEST_CASE("a name is matched whole and in its case") {
  Environ environ;
  environ.set("HTTP_ACCEPT_LANGUAGE", "de");
  CHECK(environ.get("HTTP_ACCEPT").empty());
  CHECK(environ.get("http_accept_language").empty());
}

TEST_CASE("of two values for one name the last counts") {
  Environ environ;
  environ.set("REMOTE_ADDR", "192.0.2.1");
  environ.set("SERVER_NAME", "salt");
  environ.set("REMOTE_ADDR", "192.0.2.2");
  CHECK(environ.get("REMOTE_ADDR") == "192.0.2.2");
}

TEST_CASE("the body is empty until one is lent") {
  Environ environ;
  REQUIRE(environ.body);
  CHECK(environ.body->empty());
}

TEST_CASE("clear forgets variables, body and error") {
  Environ environ;
  environ.set("HTTP_X", std::string(100'000, 'x'));
  environ.body = Error{ErrorKind::too_large, "too large", {}};
  environ.clear();
  CHECK(environ.get("HTTP_X").empty());
  REQUIRE(environ.body);
  CHECK(environ.body->empty());
  environ.set("HTTP_Y", "y");
  CHECK(environ.get("HTTP_Y") == "y");
}

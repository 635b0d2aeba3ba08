// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "gateway/fastcgi/request.h"

using rest_fcgi::gateway::cgi_head;
using rest_fcgi::http::Response;
using rest_fcgi::http::Status;

TEST_CASE("cgi_head returns Status, the headers in order and Content-Length in bytes") {
  const Response response{
      Status::unauthorized, {{"Content-Type", "application/json"}, {"X-A", "b"}}, "\xC3\xA4"};
  CHECK(cgi_head(response) ==
        "Status: 401 Unauthorized\r\nContent-Type: application/json\r\nX-A: b\r\nContent-Length: 2\r\n\r\n");
}

TEST_CASE("cgi_head removes control characters from headers") {
  const Response response{Status::ok, {{"X-\r\nA", "b\r\nSet-Cookie: c\n\x01\x7F"}}, ""};
  CHECK(cgi_head(response) == "Status: 200 OK\r\nX-A: bSet-Cookie: c\r\nContent-Length: 0\r\n\r\n");
}

TEST_CASE("cgi_head omits Content-Length for a status without a body") {
  CHECK(cgi_head(Response{Status::no_content, {}, {}}) == "Status: 204 No Content\r\n\r\n");
}

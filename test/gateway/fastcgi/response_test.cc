// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "gateway/fastcgi/request.h"

using rest_fcgi::gateway::write_head;
using rest_fcgi::http::Response;
using rest_fcgi::http::Status;

TEST_CASE("a head has status, headers in their order, and the body's length in bytes") {
  const Response response{
      Status::unauthorized, {{"Content-Type", "application/json"}, {"X-A", "b"}}, "\xC3\xA4"};
  std::string head = "what was there before";
  write_head(response, head);
  CHECK(head ==
        "Status: 401 Unauthorized\r\nContent-Type: application/json\r\nX-A: b\r\nContent-Length: 2\r\n\r\n");
}

TEST_CASE("no header's text can begin another header") {
  const Response response{Status::ok, {{"X-\r\nA", "b\r\nSet-Cookie: c\n\x01\x7F"}}, ""};
  std::string head;
  write_head(response, head);
  CHECK(head == "Status: 200 OK\r\nX-A: bSet-Cookie: c\r\nContent-Length: 0\r\n\r\n");
}

TEST_CASE("a status without a body has no length either") {
  std::string head;
  write_head(Response{Status::no_content, {}, {}}, head);
  CHECK(head == "Status: 204 No Content\r\n\r\n");
}

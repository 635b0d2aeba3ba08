// SPDX-License-Identifier: MIT
#include "rest_fcgi/http/status.h"

#include <set>
#include <string>

#include <doctest/doctest.h>

using rest_fcgi::http::reason;
using rest_fcgi::http::Status;

TEST_CASE("a status has its reason phrase") {
  CHECK(reason(Status::ok) == "OK");
  CHECK(reason(Status::bad_request) == "Bad Request");
  CHECK(reason(Status::unauthorized) == "Unauthorized");
  CHECK(reason(Status::not_found) == "Not Found");
  CHECK(reason(Status::method_not_allowed) == "Method Not Allowed");
  CHECK(reason(Status::not_acceptable) == "Not Acceptable");
  CHECK(reason(Status::content_too_large) == "Request Entity Too Large");
  CHECK(reason(Status::too_many_requests) == "Too Many Requests");
  CHECK(reason(Status::internal_server_error) == "Internal Server Error");
  CHECK(reason(Status::service_unavailable) == "Service Unavailable");
  CHECK(reason(Status::gateway_timeout) == "Gateway Timeout");
  CHECK(reason(Status::insufficient_storage) == "Insufficient Storage");
}

TEST_CASE("a status outside the list has a reason phrase, too") {
  CHECK(reason(static_cast<Status>(299)) == "Unknown");
}

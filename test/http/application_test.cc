// SPDX-License-Identifier: MIT
#include "rest_fcgi/http/application.h"

#include <string>

#include <doctest/doctest.h>

using rest_fcgi::Error;
using rest_fcgi::ErrorKind;
using rest_fcgi::http::Environ;
using rest_fcgi::http::http_date;
using rest_fcgi::http::may_have_body;
using rest_fcgi::http::reason;
using rest_fcgi::http::Status;

TEST_CASE("a variable has the value that was set, byte for byte") {
  Environ request;
  request.set("REQUEST_METHOD", "POST");
  request.set("HTTP_X", "a=b \xC3\xA4");
  CHECK(request.get("REQUEST_METHOD") == "POST");
  CHECK(request.get("HTTP_X") == "a=b \xC3\xA4");
}

TEST_CASE("an unset variable is empty") {
  Environ request;
  request.set("QUERY_STRING", "");
  CHECK(request.get("QUERY_STRING").empty());
  CHECK(request.get("CONTENT_TYPE").empty());
  CHECK(request.get("").empty());
}

TEST_CASE("names of variables are matched exactly") {
  Environ request;
  request.set("HTTP_ACCEPT_LANGUAGE", "de");
  CHECK(request.get("HTTP_ACCEPT").empty());
  CHECK(request.get("http_accept_language").empty());
}

TEST_CASE("all returns variables in order") {
  Environ request;
  request.set("A", "1");
  request.set("B", "");
  request.set("A", "2");
  const auto all = request.all();
  REQUIRE(all.size() == 3);
  CHECK(all[0] == std::pair<std::string_view, std::string_view>("A", "1"));
  CHECK(all[1] == std::pair<std::string_view, std::string_view>("B", ""));
  CHECK(all[2] == std::pair<std::string_view, std::string_view>("A", "2"));
  CHECK(all[2].second.data() == request.get("A").data());
}

TEST_CASE("the last of two values counts") {
  Environ request;
  request.set("REMOTE_ADDR", "192.0.2.1");
  request.set("SERVER_NAME", "salt");
  request.set("REMOTE_ADDR", "192.0.2.2");
  CHECK(request.get("REMOTE_ADDR") == "192.0.2.2");
}

TEST_CASE("the body is empty by default") {
  Environ request;
  REQUIRE(request.body);
  CHECK(request.body->empty());
}

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
  CHECK(reason(Status::accepted) == "Accepted");
  CHECK(reason(Status::no_content) == "No Content");
  CHECK(reason(Status::partial_content) == "Partial Content");
  CHECK(reason(Status::moved_permanently) == "Moved Permanently");
  CHECK(reason(Status::not_modified) == "Not Modified");
  CHECK(reason(Status::forbidden) == "Forbidden");
  CHECK(reason(Status::request_timeout) == "Request Timeout");
  CHECK(reason(Status::conflict) == "Conflict");
  CHECK(reason(Status::unsupported_media_type) == "Unsupported Media Type");
  CHECK(reason(Status::range_not_satisfiable) == "Range Not Satisfiable");
  CHECK(reason(Status::request_header_fields_too_large) == "Request Header Fields Too Large");
  CHECK(reason(Status::http_version_not_supported) == "HTTP Version Not Supported");
  CHECK(reason(Status::insufficient_storage) == "Insufficient Storage");
}

TEST_CASE("an unknown status has the reason phrase Unknown") {
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

// SPDX-License-Identifier: MIT
#include "rest_fcgi/http/application.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/http/url.h"

namespace rest_fcgi::http {

TEST_CASE("a variable has its last value, byte for byte, and an unset variable is empty") {
  Environ request;
  request.set("QUERY_STRING", "");
  request.set("HTTP_ACCEPT_LANGUAGE", "a=b");
  request.set("HTTP_ACCEPT_LANGUAGE", "a=b \xC3\xA4");
  using Variable = std::pair<std::string_view, std::string_view>;
  const auto all = request.all();
  CHECK(std::vector<Variable>(all.begin(), all.end()) ==
        std::vector<Variable>{
            {"QUERY_STRING", ""}, {"HTTP_ACCEPT_LANGUAGE", "a=b"}, {"HTTP_ACCEPT_LANGUAGE", "a=b \xC3\xA4"}});
  CHECK(request.get("HTTP_ACCEPT_LANGUAGE") == "a=b \xC3\xA4");
  for (const char* name : {"QUERY_STRING", "HTTP_ACCEPT", "http_accept_language", ""})
    CHECK(request.get(name).empty());
  REQUIRE(request.body);
  CHECK(request.body->empty());
}

TEST_CASE("a status has its reason phrase, and 204 and 304 have no body") {
  CHECK(reason(Status::content_too_large) == "Request Entity Too Large");
  CHECK(reason(static_cast<Status>(299)) == "Unknown");
  CHECK(!may_have_body(Status::no_content));
  CHECK(!may_have_body(Status::not_modified));
  CHECK(may_have_body(Status::ok));
}

TEST_CASE("http_date does not depend on the locale") {
  CHECK(http_date(std::chrono::system_clock::from_time_t(784111777)) == "Sun, 06 Nov 1994 08:49:37 GMT");
  CHECK(http_date(std::chrono::system_clock::from_time_t(0)) == "Thu, 01 Jan 1970 00:00:00 GMT");
}

namespace {

std::string path(const std::string& script_name, const std::string& path_info, const std::string& uri) {
  Environ environ;
  environ.set("SCRIPT_NAME", script_name);
  environ.set("PATH_INFO", path_info);
  environ.set("REQUEST_URI", uri);
  const Path found = path_of(environ);
  return found.above + " " + found.below;
}

}  // namespace

TEST_CASE("path_of uses PATH_INFO, otherwise the decoded URL") {
  CHECK(path("/salt", "/a%2Fb", "/other") == "/salt /a%2Fb");
  CHECK(path("/salt", "", "/a%2Fb%20c?x=%20") == " /a/b c");
  CHECK(path("", "", "") == " /");
  CHECK(path("", "", "?x=1") == " ");
}

TEST_CASE("the reply and the log lines of a request have the id of the web server, if the id is harmless") {
  const test::CapturedLog log;
  const Application application = with_request_id([](const Environ&) {
    log::warning("slow");
    return Response{};
  });
  const auto ids_of = [&](std::string_view id) {
    Environ request;
    request.set("REQUEST_ID", id);
    std::vector<std::string> ids;
    for (const auto& [name, value] : application(request).headers) ids.push_back(name + ": " + value);
    return ids;
  };
  CHECK(ids_of("Root=1-67/a.b_c:d@e+f") == std::vector<std::string>{"X-Request-ID: Root=1-67/a.b_c:d@e+f"});
  CHECK(log.has(" warning slow request_id=Root=1-67/a.b_c:d@e+f\n"));
  CHECK(ids_of(std::string(128, 'x')).size() == 1);
  for (const std::string& id : {std::string(), std::string(129, 'x'), std::string("a b"),
                                std::string("a\r\nb"), std::string("\xC3\xA4"), std::string("a\"b")}) {
    CAPTURE(id);
    CHECK(ids_of(id).empty());
  }
  CHECK(log.text().ends_with(" warning slow\n"));
}

}  // namespace rest_fcgi::http

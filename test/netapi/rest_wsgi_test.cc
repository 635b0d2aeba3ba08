// SPDX-License-Identifier: MIT
#include <new>

#include <doctest/doctest.h>

#include "rest_fcgi/netapi/rest.h"
#include "wsgi.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;

namespace {

std::string reply_to(const Wsgi& wsgi, const std::string& method, const std::string& name,
                     const std::string& value) {
  http::Environ request;
  request.set("REQUEST_METHOD", method);
  request.set(name, value);
  return text_of(wsgi.call(request));
}

}  // namespace

TEST_CASE("rest_wsgi returns the result of each chunk") {
  const Wsgi wsgi;
  const http::Response response = wsgi.post("[" + Wsgi::chunk(kPingKeys) + ", " +
                                            Wsgi::chunk(R"("client": "runner", "fun": "manage.up")") + "]");
  CHECK(text_of(response) == R"(200 {"return": [{"ms-0": true, "ms-1": true, "ms-2": true}, ["ms-0"]]})");
  CHECK(header(response, "Content-Type") == "application/json");
}

TEST_CASE("GET / of rest_wsgi lists the enabled clients, and ssh only if the engine supports it") {
  client::Options options;
  options.enabled = {lowstate::Client::local, lowstate::Client::ssh};
  const Wsgi wsgi(options);
  const std::string greeting = reply_to(wsgi, "GET", "REQUEST_URI", "/");
  CHECK(greeting.starts_with(R"(200 {"return": "This is rest_)"));
  CHECK(greeting.ends_with(R"(, "clients": ["local", "ssh"]})"));
  CHECK(reply_to(wsgi, "HEAD", "REQUEST_URI", "/") == greeting);
  wsgi.master().has_ssh = false;
  CHECK(reply_to(wsgi, "GET", "REQUEST_URI", "/").find(R"("clients": ["local"]})") != std::string::npos);
}

TEST_CASE("rest_wsgi answers other methods with 405") {
  const Wsgi wsgi;
  for (const std::string method : {"PUT", "DELETE", "OPTIONS", "get", ""}) {
    CHECK(reply_to(wsgi, method, "REQUEST_URI", "/") == R"(405 {"return": "405: Method Not Allowed"})");
  }
  http::Environ put;
  put.set("REQUEST_METHOD", "PUT");
  CHECK(header(wsgi.call(put), "Allow") == "GET, HEAD, POST");
}

TEST_CASE("rest_wsgi answers only the path /") {
  const Wsgi wsgi;
  CHECK(reply_to(wsgi, "GET", "REQUEST_URI", "/?x=/y").substr(0, 3) == "200");
  CHECK(reply_to(wsgi, "GET", "SCRIPT_NAME", "/salt").substr(0, 3) == "200");
  http::Environ mounted;
  mounted.set("REQUEST_METHOD", "GET");
  mounted.set("REQUEST_URI", "/salt/");
  mounted.set("PATH_INFO", "/");
  CHECK(text_of(wsgi.call(mounted)).substr(0, 3) == "200");
}

TEST_CASE("rest_wsgi refuses bodies that are not declared as JSON") {
  const Wsgi wsgi;
  for (const std::string type :
       {"", "text/plain", "application/json; charset=latin1", "multipart/form-data; boundary=x"}) {
    http::Environ request = Wsgi::post_of("[]");
    request.set("CONTENT_TYPE", type);
    CHECK(text_of(wsgi.call(request)) == R"(406 {"return": "406: JSON required"})");
  }
}

TEST_CASE("rest_wsgi refuses compressed bodies") {
  const Wsgi wsgi;
  http::Environ request = Wsgi::post_of("[]");
  request.set("HTTP_CONTENT_ENCODING", "UTF-8");
  CHECK(text_of(wsgi.call(request)) == R"(200 {"return": []})");
  request.set("HTTP_CONTENT_ENCODING", "identity, GZIP");
  CHECK(text_of(wsgi.call(request)).starts_with("415 "));
}

TEST_CASE("rest_wsgi names the byte at which JSON is malformed") {
  const Wsgi wsgi;
  CHECK(text_of(wsgi.post("")) == R"(400 {"return": "400: Expecting value: byte 0"})");
  CHECK(text_of(wsgi.post("[nonsense]")) == R"(400 {"return": "400: Expecting value: byte 1"})");
}

TEST_CASE("rest_wsgi returns the front end's error about the body") {
  const Wsgi wsgi;
  http::Environ request = Wsgi::post_of("");
  request.body = Error{ErrorKind::too_large, "The body has more than 10 bytes", {}};
  CHECK(text_of(wsgi.call(request)) == R"(413 {"return": "413: The body has more than 10 bytes"})");
  request.body = Error{ErrorKind::malformed, "The body is short", {}};
  CHECK(text_of(wsgi.call(request)) == R"(400 {"return": "400: The body is short"})");
}

TEST_CASE("a body beyond the limit is refused") {
  netapi::Options options;
  options.max_request_body_size = 2;
  const Wsgi wsgi(quick_options(), options);
  CHECK(text_of(wsgi.post("[]")) == R"(200 {"return": []})");
  CHECK(text_of(wsgi.post("[ ]")) ==
        R"x(413 {"return": "413: Request body is larger than max_request_body_size (2 bytes)"})x");
}

TEST_CASE("an internal error returns a reference to the log") {
  const Wsgi wsgi;
  wsgi.master().on_start = [](const std::string&) { return Error{ErrorKind::internal, "disk on fire", {}}; };
  const std::string text = text_of(wsgi.run(kPingKeys));
  const std::string start = R"(500 {"return": "An unexpected error occurred (reference )";
  REQUIRE(text.size() == start.size() + 8 + 3);
  CHECK(text.substr(0, start.size()) == start);
  CHECK(text.substr(start.size() + 8) == ")\"}");
  CHECK(wsgi.log().has("error 500 for 192.0.2.7: reference " + text.substr(start.size(), 8) +
                       ": disk on fire\n"));
}

TEST_CASE("std::bad_alloc is answered with 503") {
  const Wsgi wsgi;
  wsgi.master().on_start = [](const std::string&) -> std::optional<Error> { throw std::bad_alloc(); };
  const std::string text = text_of(wsgi.run(kPingKeys));
  CHECK(text.starts_with(R"(503 {"return": "Not enough memory)"));
}

// SPDX-License-Identifier: MIT
#include "rest_fcgi/gateway/gateway.h"

#include <stdlib.h>

#include <new>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include "served.h"

using namespace rest_fcgi;
using namespace rest_fcgi::gateway;
using namespace rest_fcgi::gateway::test;
using namespace rest_fcgi::test;

namespace {

/// Answers with the values of some variables, each on a line.
http::Response show(const http::Environ& environ) {
  std::string text;
  for (const char* name : {"REQUEST_METHOD", "PATH_INFO", "HTTP_X_ONCE", "CONTENT_LENGTH"}) {
    text.append(name).append("=").append(environ.get(name)).append("\n");
  }
  return {http::Status::ok, {}, text};
}

}  // namespace

TEST_CASE("a request over a unix socket reaches the application, and its answer the web server") {
  Served served(echo);
  const FcgiReply reply = served.connect().request(post("[{\"client\": \"local\"}]"));
  CHECK(reply.ended);
  CHECK(reply.header("Status") == "200 OK");
  CHECK(reply.header("Content-Type") == "text/plain");
  CHECK(reply.header("Content-Length") == "21");
  CHECK(reply.body == "[{\"client\": \"local\"}]");
}

TEST_CASE("a request over TCP does, too") {
  const int port = free_port();
  Options options;
  options.listen = "tcp:127.0.0.1:" + std::to_string(port);
  Served served(echo, options);
  CHECK(FcgiClient::tcp(port).request(post("hello")).body == "hello");
}

TEST_CASE("the web server gets the end of the connection unless it keeps it") {
  Served served(echo);
  FcgiClient client = served.connect();
  CHECK(client.request(post("a")).ended);
  CHECK(client.closed_within(milliseconds(5000)));
}

TEST_CASE("a kept connection carries one request after the other") {
  Served served(echo);
  FcgiClient client = served.connect();
  for (int i = 0; i < 50; ++i) {
    const std::string body = "request " + std::to_string(i);
    CHECK(client.request(post(body, {}, true)).body == body);
  }
  CHECK(client.request(post("last")).body == "last");
  CHECK(client.closed_within(milliseconds(5000)));
}

TEST_CASE("a kept connection ends when its time is over") {
  Options options;
  options.keep_conn_timeout = milliseconds(50);
  Served served(echo, options);
  FcgiClient client = served.connect();
  CHECK(client.request(post("a", {}, true)).ended);
  CHECK(client.closed_within(milliseconds(10000)));
}

TEST_CASE("CVE-2011-2766: nothing of a request carries over to the next on its connection") {
  Served served(show);
  FcgiClient client = served.connect();
  const std::string first = client.request(post("12345", {{"HTTP_X_ONCE", "secret"}}, true)).body;
  CHECK(first == "REQUEST_METHOD=POST\nPATH_INFO=/\nHTTP_X_ONCE=secret\nCONTENT_LENGTH=5\n");
  const std::string second = client.request(begin_request(true) + params({}) + stdin_stream("")).body;
  CHECK(second == "REQUEST_METHOD=\nPATH_INFO=\nHTTP_X_ONCE=\nCONTENT_LENGTH=\n");
}

TEST_CASE("CVE-2025-40907: variables come from the request, not from the process") {
  ::setenv("HTTP_X_ONCE", "of the process", 1);
  Served served(show);
  CHECK(served.connect().request(post("")).body.find("HTTP_X_ONCE=\n") != std::string::npos);
  ::unsetenv("HTTP_X_ONCE");
}

TEST_CASE("of a variable sent twice the last counts, and one without a name is ignored") {
  Served served(show);
  const Variables variables = {{"PATH_INFO", "/a"}, {"", "x"}, {"PATH_INFO", "/b"}};
  const std::string body = served.connect().request(post("", variables)).body;
  CHECK(body.find("PATH_INFO=/b\n") != std::string::npos);
}

TEST_CASE("64 KiB of variables arrive whole") {
  Served served([](const http::Environ& request) {
    return http::Response{http::Status::ok, {}, std::to_string(request.get("HTTP_COOKIE").size())};
  });
  const Variables variables = {{"HTTP_COOKIE", std::string(65536, 'c')}};
  CHECK(served.connect().request(post("", variables)).body == "65536");
}

TEST_CASE("records that come byte by byte are put together") {
  Served served(echo);
  FcgiClient client = served.connect();
  for (const char byte : post("slowly", {{"HTTP_X", std::string(300, 'x')}})) {
    REQUIRE(client.send({&byte, 1}));
  }
  CHECK(client.reply().body == "slowly");
}

TEST_CASE("HEAD gets the headers of the answer, its length, and no body") {
  Served served([](const http::Environ&) {
    return http::Response{http::Status::not_found, {}, "twelve bytes"};
  });
  const Variables variables = {{"REQUEST_METHOD", "HEAD"}};
  const FcgiReply reply =
      served.connect().request(begin_request(false) + params(variables) + stdin_stream(""));
  CHECK(reply.ended);
  CHECK(reply.header("Status") == "404 Not Found");
  CHECK(reply.header("Content-Length") == "12");
  CHECK(reply.body.empty());
}

TEST_CASE("a large answer arrives whole") {
  const std::string large(20'000'000, 'x');
  Served served([&](const http::Environ&) { return http::Response{http::Status::ok, {}, large}; });
  CHECK(served.connect().request(post("")).body == large);
}

TEST_CASE("a stream is sent part by part, without a length, and not pulled for HEAD") {
  Served served([](const http::Environ& request) {
    const bool broken = *request.body == "broken" || request.get("REQUEST_METHOD") == "HEAD";
    return http::Response{
        http::Status::ok,
        {{"X-A", "b"}},
        std::make_unique<Parts>(std::vector<std::string>{"one ", std::string(100'000, '2'), " three"},
                                broken ? "disk on fire" : "")};
  });
  FcgiClient client = served.connect();
  const FcgiReply reply = client.request(post("", {}, true));
  CHECK(reply.head == "Status: 200 OK\r\nX-A: b");
  CHECK(reply.body == "one " + std::string(100'000, '2') + " three");
  const FcgiReply head =
      client.request(begin_request(true) + params({{"REQUEST_METHOD", "HEAD"}}) + stdin_stream(""));
  CHECK(head.ended);
  CHECK(head.body.empty());

  const FcgiReply cut = client.request(post("broken", {}, true));
  CHECK(!cut.ended);
  CHECK(cut.closed);
  CHECK(served.log().has("a reply was cut off: disk on fire"));
}

TEST_CASE("an application that throws is answered for with 500, and serves on") {
  Served served([](const http::Environ& request) -> http::Response {
    if (*request.body == "memory") throw std::bad_alloc();
    if (*request.body == "logic") throw std::logic_error("secret text");
    if (*request.body == "odd") throw 7;
    return echo(request);
  });
  FcgiClient client = served.connect();
  for (const char* body : {"memory", "logic", "odd"}) {
    const FcgiReply reply = client.request(post(body, {}, true));
    CHECK(reply.status() == 500);
    CHECK(reply.body.empty());
  }
  CHECK(client.request(post("fine", {}, true)).body == "fine");
  CHECK(served.log().has("the request is answered with 500: std::bad_alloc"));
  CHECK(served.log().has("the request is answered with 500: std::logic_error"));
  CHECK(!served.log().has("secret text"));
}

TEST_CASE("a gateway that cannot listen says so before it serves") {
  Options options;
  options.listen = "tcp:127.0.0.1";
  const auto gateway = Gateway::open(options);
  REQUIRE(!gateway);
  CHECK(gateway.error().kind == ErrorKind::configuration);
}

// SPDX-License-Identifier: MIT
#include "rest_fcgi/gateway/gateway.h"

#include <stdlib.h>

#include <new>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include "running_gateway.h"

using namespace rest_fcgi;
using namespace rest_fcgi::gateway;
using namespace rest_fcgi::gateway::test;
using namespace rest_fcgi::test;

namespace {

http::Response show_variables(const http::Environ& environ) {
  std::string text;
  for (const char* name : {"REQUEST_METHOD", "PATH_INFO", "HTTP_X_ONCE", "CONTENT_LENGTH"}) {
    text.append(name).append("=").append(environ.get(name)).append("\n");
  }
  return {http::Status::ok, {}, text};
}

}  // namespace

TEST_CASE("a FastCGI request over a unix socket or TCP gets the application's reply") {
  for (const bool is_tcp : {false, true}) {
    CAPTURE(is_tcp);
    const int port = unused_port();
    Options options;
    if (is_tcp) options.listen = "tcp:127.0.0.1:" + std::to_string(port);
    RunningGateway server(echo, options);
    FcgiClient client = is_tcp ? FcgiClient::tcp(port) : server.connect();
    const FcgiReply reply = client.request(post("[{\"client\": \"local\"}]"));
    CHECK(reply.ended);
    CHECK(reply.header("Status") == "200 OK");
    CHECK(reply.header("Content-Type") == "text/plain");
    CHECK(reply.header("Content-Length") == "21");
    CHECK(reply.body == "[{\"client\": \"local\"}]");
  }
}

TEST_CASE("a connection is kept while FCGI_KEEP_CONN is set, and then closed") {
  RunningGateway server(echo);
  FcgiClient client = server.connect();
  for (int i = 0; i < 50; ++i) {
    const std::string body = "request " + std::to_string(i);
    CHECK(client.request(post(body, {}, true)).body == body);
  }
  CHECK(client.request(post("last")).body == "last");
  CHECK(client.closed_within(milliseconds(5000)));
}

TEST_CASE("a kept FastCGI connection is closed after keep_conn_timeout") {
  Options options;
  options.keep_conn_timeout = milliseconds(50);
  RunningGateway server(echo, options);
  FcgiClient client = server.connect();
  CHECK(client.request(post("a", {}, true)).ended);
  CHECK(client.closed_within(milliseconds(10000)));
}

TEST_CASE("CVE-2011-2766: variables of a request are absent from the next request on the connection") {
  RunningGateway server(show_variables);
  FcgiClient client = server.connect();
  const std::string first = client.request(post("12345", {{"HTTP_X_ONCE", "secret"}}, true)).body;
  CHECK(first == "REQUEST_METHOD=POST\nPATH_INFO=/\nHTTP_X_ONCE=secret\nCONTENT_LENGTH=5\n");
  const std::string second = client.request(begin_request(true) + params({}) + stdin_stream("")).body;
  CHECK(second == "REQUEST_METHOD=\nPATH_INFO=\nHTTP_X_ONCE=\nCONTENT_LENGTH=\n");
}

TEST_CASE("CVE-2025-40907: variables of the process's environment are absent from the request") {
  ::setenv("HTTP_X_ONCE", "of the process", 1);
  RunningGateway server(show_variables);
  CHECK(server.connect().request(post("")).body.find("HTTP_X_ONCE=\n") != std::string::npos);
  ::unsetenv("HTTP_X_ONCE");
}

TEST_CASE("a FastCGI variable of 250 KiB arrives complete") {
  RunningGateway server([](const http::Environ& request) {
    return http::Response{http::Status::ok, {}, std::to_string(request.get("HTTP_COOKIE").size())};
  });
  const Variables variables = {{"HTTP_COOKIE", std::string(256'000, 'c')}};
  CHECK(server.connect().request(post("", variables)).body == "256000");
}

TEST_CASE("a FastCGI request that arrives byte by byte is answered") {
  RunningGateway server(echo);
  FcgiClient client = server.connect();
  for (const char byte : post("slowly", {{"HTTP_X", std::string(300, 'x')}})) {
    REQUIRE(client.send({&byte, 1}));
  }
  CHECK(client.reply().body == "slowly");
}

TEST_CASE("FastCGI sends a stream without Content-Length, and does not read it for HEAD") {
  RunningGateway server([](const http::Environ& request) {
    const bool broken = *request.body == "broken" || request.get("REQUEST_METHOD") == "HEAD";
    return http::Response{
        http::Status::ok,
        {{"X-A", "b"}},
        std::make_unique<StreamOfParts>(std::vector<std::string>{"one ", std::string(100'000, '2'), " three"},
                                        broken ? "disk on fire" : "")};
  });
  FcgiClient client = server.connect();
  const FcgiReply reply = client.request(post("", {}, true));
  CHECK(reply.head == "Status: 200 OK\r\nX-A: b");
  CHECK(reply.body == "one " + std::string(100'000, '2') + " three");
  const FcgiReply head =
      client.request(begin_request(true) + params({{"REQUEST_METHOD", "HEAD"}}) + stdin_stream(""));
  CHECK(head.ended);
  CHECK(head.head == reply.head);
  CHECK(head.body.empty());

  const FcgiReply cut = client.request(post("broken", {}, true));
  CHECK(!cut.ended);
  CHECK(cut.closed);
  CHECK(server.log().has("a reply was sent only in part: disk on fire"));
}

TEST_CASE("a request whose application throws is answered with 500, and the next one is served") {
  RunningGateway server([](const http::Environ& request) -> http::Response {
    if (*request.body == "memory") throw std::bad_alloc();
    if (*request.body == "logic") throw std::logic_error("secret text");
    if (*request.body == "odd") throw 7;
    return echo(request);
  });
  FcgiClient client = server.connect();
  for (const char* body : {"memory", "logic", "odd"}) {
    const FcgiReply reply = client.request(post(body, {}, true));
    CHECK(reply.status() == 500);
    CHECK(reply.body.empty());
  }
  CHECK(client.request(post("fine", {}, true)).body == "fine");
  CHECK(server.log().has("500 after an exception: std::bad_alloc"));
  CHECK(server.log().has("500 after an exception: std::logic_error"));
  CHECK(!server.log().has("secret text"));
}

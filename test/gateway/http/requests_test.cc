// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "http_peer.h"

using namespace rest_fcgi;
using namespace rest_fcgi::gateway;
using namespace rest_fcgi::gateway::test;
using namespace rest_fcgi::test;

namespace {

http::Response show_variables(const http::Environ& environ) {
  std::string text;
  for (const char* name :
       {"REQUEST_METHOD", "REQUEST_URI", "PATH_INFO", "QUERY_STRING", "SERVER_PROTOCOL", "SERVER_NAME",
        "SERVER_PORT", "REMOTE_ADDR", "HTTPS", "CONTENT_LENGTH", "HTTP_X_FORWARDED_FOR"}) {
    text += std::string(name) + "=" + std::string(environ.get(name)) + "\n";
  }
  return {http::Status::ok, {{"Content-Type", "text/plain"}, {"X-Two", "a\r\nSet-Cookie: b"}}, text};
}

struct ServedPort {
  explicit ServedPort(Options its_options = with_http(), http::Application application = echo)
      : options(std::move(its_options)), server(std::move(application), options) {}
  [[nodiscard]] int port() const { return options.http[0].port; }
  [[nodiscard]] HttpPeer connect() const { return HttpPeer(port()); }

  Options options;
  RunningGateway server;
};

http::Response stream_of(std::vector<std::string> parts, std::string error = {}) {
  return {http::Status::ok, {}, std::make_unique<StreamOfParts>(std::move(parts), std::move(error))};
}

}  // namespace

TEST_CASE("426 has the headers Upgrade and Connection, and keeps the connection") {
  const ServedPort port(with_http(), [](const http::Environ&) {
    return http::Response{http::Status::upgrade_required, {}, "This is a WebSocket."};
  });
  HttpPeer peer = port.connect();
  const HttpReply reply = peer.request(http_get("/ws"));
  CHECK(reply.status == 426);
  CHECK(reply.header("Upgrade") == "websocket");
  CHECK(reply.header("Connection") == "Upgrade");
  CHECK(peer.request(http_get("/ws")).status == 426);
}

TEST_CASE("a request sets the CGI variables, and its reply has Server and Date") {
  const ServedPort port(with_http(), show_variables);
  HttpPeer peer = port.connect();
  const HttpReply reply =
      peer.request(http_get("/a%2Fb?c=d", "X-Forwarded-For: 192.0.2.1\r\nRemote-Addr: 192.0.2.1\r\n"));
  CHECK(reply.head.substr(0, 17) == "HTTP/1.1 200 OK\r\n");
  CHECK(reply.header("Server") == "rest_fcgi");
  CHECK(reply.header("Date").size() == 29);
  CHECK(reply.header("Date").substr(25) == " GMT");
  CHECK(reply.header("Content-Type") == "text/plain");
  CHECK(reply.header("X-Two") == "aSet-Cookie: b");
  CHECK(reply.header("Connection").empty());
  CHECK(reply.body ==
        "REQUEST_METHOD=GET\nREQUEST_URI=/a%2Fb?c=d\nPATH_INFO=/a/b\nQUERY_STRING=c=d\n"
        "SERVER_PROTOCOL=HTTP/1.1\nSERVER_NAME=localhost\nSERVER_PORT=" +
            std::to_string(port.port()) +
            "\nREMOTE_ADDR=127.0.0.1\nHTTPS=\nCONTENT_LENGTH=\nHTTP_X_FORWARDED_FOR=192.0.2.1\n");
}

TEST_CASE("pipelined requests on one connection are answered in order") {
  const ServedPort port;
  HttpPeer peer = port.connect();
  for (int i = 0; i < 20; ++i)
    CHECK(peer.request(http_post("one " + std::to_string(i))).body == "one " + std::to_string(i));
  std::string all;
  for (int i = 0; i < 500; ++i) all += http_post("number " + std::to_string(i));
  CHECK(peer.send(all));
  for (int i = 0; i < 500; ++i) REQUIRE(peer.reply().body == "number " + std::to_string(i));
}

TEST_CASE("a body arrives complete with Content-Length or in chunks, byte by byte or large") {
  Options options = with_http();
  options.http[0].max_request_body_size = 3'000'000;
  const ServedPort port(options);
  HttpPeer peer = port.connect();
  const std::string chunked =
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n";
  for (const std::string& request : {http_post("body"), chunked}) {
    for (const char byte : request) REQUIRE(peer.send({&byte, 1}));
    CHECK(peer.reply().body == "body");
  }
  const std::string large(2'500'000, 'x');
  CHECK(peer.request(http_post(large)).body == large);
  std::string chunks = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 25; ++i) chunks += "186a0\r\n" + std::string(100'000, 'x') + "\r\n";
  CHECK(peer.request(chunks + "0\r\n\r\n").body == large);
}

TEST_CASE("Expect: 100-continue gets 100 before the body, or 413 if the body is too large") {
  const ServedPort port;
  HttpPeer peer = port.connect();
  for (int i = 0; i < 2; ++i) {
    peer.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    CHECK(peer.reply().status == 100);
    CHECK(peer.request("body").body == "body");
  }
  CHECK(peer.request(http_post("at once", "Expect: 100-continue\r\n")).body == "at once");
  CHECK(peer.request("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\nExpect: 100-continue\r\n\r\n")
            .status == 413);
}

TEST_CASE("HTTP HEAD returns the headers of GET without a body") {
  const ServedPort port(with_http(), [](const http::Environ& request) -> http::Response {
    if (request.get("PATH_INFO") == "/stream") return stream_of({"never pulled"}, "pulled");
    return {http::Status::not_found, {}, "twelve bytes"};
  });
  HttpPeer peer = port.connect();
  peer.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  const HttpReply reply = peer.reply(true);
  CHECK(reply.status == 404);
  CHECK(reply.header("Content-Length") == "12");
  peer.send("HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK(peer.reply(true).header("Transfer-Encoding") == "chunked");
  CHECK(peer.request(http_get()).body == "twelve bytes");
  CHECK(!port.server.log().has("pulled"));
}

TEST_CASE("a stream is chunked for HTTP/1.1, unframed for HTTP/1.0, and cut off on errors") {
  const std::string large(1'000'000, '2');
  const ServedPort port(with_http(), [&](const http::Environ& request) {
    return stream_of({"one ", large, " three"}, request.get("PATH_INFO") == "/broken" ? "disk on fire" : "");
  });
  HttpPeer peer = port.connect();
  for (int i = 0; i < 3; ++i) {
    const HttpReply reply = peer.request(http_get());
    CHECK(reply.is_complete);
    CHECK(reply.body == "one " + large + " three");
  }
  const HttpReply broken = peer.request(http_get("/broken"));
  CHECK(broken.status == 200);
  CHECK(!broken.is_complete);
  CHECK(port.server.log().has("a reply was sent only in part: disk on fire"));
  HttpPeer old = port.connect();
  const HttpReply reply = old.request("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  CHECK(reply.header("Transfer-Encoding").empty());
  CHECK(reply.header("Connection") == "close");
  CHECK(reply.body == "one " + large + " three");
}

TEST_CASE("a stream with Content-Length keeps the connection, and is cut off if its length differs") {
  const ServedPort port(with_http(), [](const http::Environ& request) {
    http::Response response = stream_of({"12345", "67890"});
    response.stream_size = std::stoull(std::string(request.get("QUERY_STRING")));
    return response;
  });
  HttpPeer peer = port.connect();
  for (const char* version : {"1.1", "1.0"}) {
    const HttpReply reply = peer.request(std::string("GET /?10 HTTP/") + version +
                                         "\r\nHost: a\r\nConnection: keep-alive\r\n\r\n");
    CHECK(reply.header("Transfer-Encoding").empty());
    CHECK(reply.body == "1234567890");
  }
  CHECK(!port.connect().request(http_get("/?11")).is_complete);
  HttpPeer cut_off = port.connect();
  CHECK(cut_off.request(http_get("/?7")).body != "1234567");
  CHECK(port.server.log().has("the size of the body differs from its Content-Length"));
}

TEST_CASE("the Connection header of the request decides whether the connection is kept") {
  const ServedPort port;
  HttpPeer kept = port.connect();
  CHECK(kept.request("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").header("Connection") ==
        "keep-alive");
  CHECK(kept.request("GET / HTTP/1.0\r\n\r\n").header("Connection") == "close");
  CHECK(kept.closed_within(milliseconds(5000)));
  HttpPeer last = port.connect();
  CHECK(last.request(http_get("/", "Connection: close\r\n")).header("Connection") == "close");
  CHECK(last.closed_within(milliseconds(5000)));
  HttpPeer half = port.connect();
  half.send(http_post("half"));
  half.half_close();
  CHECK(half.reply().body == "half");
}

TEST_CASE("a malformed request is refused with JSON, and the connection is closed") {
  const ServedPort port;
  HttpPeer peer = port.connect();
  const HttpReply reply = peer.request("GET / HTTP/2.0\r\nHost: a\r\n\r\n");
  CHECK(reply.status == 505);
  CHECK(reply.header("Content-Type") == "application/json");
  CHECK(reply.header("Connection") == "close");
  CHECK(reply.header("Server") == "rest_fcgi");
  CHECK(reply.body.starts_with("{\"status\": 505, \"return\": \""));
  CHECK(peer.closed_within(kSoon));
}

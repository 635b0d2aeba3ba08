// SPDX-License-Identifier: MIT
#include <chrono>
#include <condition_variable>
#include <thread>

#include <doctest/doctest.h>

#include "../support/loopback_http.h"
#include "etcd/transport.h"
#include "fake_gateway.h"

namespace rest_fcgi::etcd {
namespace {

using namespace std::chrono_literals;

Deadline in(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

std::unique_ptr<HttpStream> open(const std::string& url, std::string_view body) {
  static const std::unique_ptr<Transport> http = *Transport::make({});
  return *http->open({.url = url, .body = body});
}

constexpr std::string_view kHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST_CASE("a stream gives bytes as they come, and none where none do") {
  std::mutex mutex;
  std::condition_variable more;
  int pieces = 1;
  const FakeGateway server([&](const FakeGateway::Request&, const FakeGateway::Send& send) {
    send(kHead);
    for (int sent = 0; sent < 2; ++sent) {
      std::unique_lock lock(mutex);
      more.wait(lock, [&] { return pieces > sent; });
      send(sent == 0 ? "3\r\none\r\n" : "3\r\ntwo\r\n0\r\n\r\n");
    }
    return true;
  });
  std::string body = "{\"create_request\": {}}";
  const auto stream = open(server.url() + "/v3/watch", body);
  body.assign(body.size(), 'x');
  CHECK(stream->status() == 0);
  CHECK(*stream->read(in(10s)) == "one");
  CHECK(stream->status() == 200);
  CHECK(server.requests().at(0).body == "{\"create_request\": {}}");
  CHECK(*stream->read(in(20ms)) == "");
  {
    const std::lock_guard lock(mutex);
    pieces = 2;
  }
  more.notify_one();
  CHECK(*stream->read(in(10s)) == "two");
  const Result<std::string> end = stream->read(in(10s));
  REQUIRE_FALSE(end);
  CHECK(end.error().kind == ErrorKind::timeout);
  CHECK(end.error().message == server.url() + "/v3/watch: the reply ended");
  CHECK_FALSE(stream->read(in(10s)));
}

TEST_CASE("a stream that breaks gives what came, then the error") {
  const FakeGateway server([&](const FakeGateway::Request&, const FakeGateway::Send& send) {
    send(kHead);
    send("3\r\none\r\n");
    return false;
  });
  const auto stream = open(server.url(), "{}");
  CHECK(*stream->read(in(10s)) == "one");
  CHECK(stream->read(in(10s)).error().kind == ErrorKind::timeout);
}

TEST_CASE("a stream to nobody says so") {
  const auto stream = open("http://127.0.0.1:" + std::to_string(test::unused_port()), "{}");
  CHECK(stream->read(in(10s)).error().kind == ErrorKind::unavailable);
  CHECK(open("file:///etc/passwd", "")->read(in(10s)).error().kind == ErrorKind::configuration);
}

TEST_CASE("nobody has to read a stream to its end") {
  const FakeGateway server([&](const FakeGateway::Request&, const FakeGateway::Send& send) {
    const std::string piece = "100000\r\n" + std::string(1U << 20, 'x') + "\r\n";
    if (send(kHead)) {
      while (send(piece)) continue;
    }
    return false;
  });
  const auto stream = open(server.url(), "{}");
  const Result<std::string> bytes = stream->read(in(10s));
  REQUIRE(bytes);
  CHECK_FALSE(bytes->empty());
  CHECK(bytes->size() < (16U << 20));
}

}  // namespace
}  // namespace rest_fcgi::etcd

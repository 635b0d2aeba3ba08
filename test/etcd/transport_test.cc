// SPDX-License-Identifier: MIT
#include "etcd/transport.h"

#include <chrono>
#include <thread>

#include <doctest/doctest.h>

#include "../support/environment.h"
#include "../support/loopback_http.h"
#include "../support/temp_dir.h"
#include "client_calls.h"
#include "fake_gateway.h"

namespace rest_fcgi::etcd {
namespace {

using namespace std::chrono_literals;
using Method = HttpRequest::Method;

std::unique_ptr<Transport> transport(Options options = {}) {
  return *Transport::make(std::move(options));
}

Error error_of(const std::string& bytes) {
  const FakeGateway server([&bytes](const FakeGateway::Request&, const FakeGateway::Send& send) {
    send(bytes);
    return false;
  });
  const Error error =
      transport()->exchange({.url = server.url() + "/v3/kv/put", .body = "{}"}, in(10s)).error();
  CHECK(error.message.find(server.url() + ": ") == 0);
  return error;
}

TEST_CASE("an exchange sends a request and returns the reply") {
  const FakeGateway server([](const FakeGateway::Request&, const FakeGateway::Send& send) {
    return send(FakeGateway::reply(201, "{}"));
  });
  const auto http = transport();
  const Secret secret("sesame");
  const auto reply = *http->exchange(
      {.url = server.url() + "/v3/kv/put", .body = "{\"a\": 1}", .authorization = secret}, in(10s));
  CHECK(reply.status == 201);
  CHECK(reply.body == "{}");
  REQUIRE(server.requests().size() == 1);
  const FakeGateway::Request request = server.requests().front();
  CHECK(request.method == "POST");
  CHECK(request.path == "/v3/kv/put");
  CHECK(request.body == "{\"a\": 1}");
  CHECK(request.headers.find(" HTTP/1.1\r\n") != std::string::npos);
  CHECK(request.headers.find("\r\nAuthorization: sesame\r\n") != std::string::npos);
  CHECK(request.headers.find("\r\nContent-Type: application/json\r\n") != std::string::npos);
  CHECK(request.headers.find("Expect") == std::string::npos);
}

TEST_CASE("a request that was not sent is unavailable, and one without a good answer is a timeout") {
  const std::string url = "http://127.0.0.1:" + std::to_string(test::unused_port());
  const auto http = transport();
  const Error refused = http->exchange({.url = url + "/v3", .body = "{}"}, in(10s)).error();
  CHECK(refused.kind == ErrorKind::unavailable);
  CHECK(refused.message.find(url + ": Failed to connect") == 0);
  const Result<HttpReply> late = http->exchange({.url = url, .body = "{}"}, in(-1ms));
  CHECK(late.error().kind == ErrorKind::unavailable);
  CHECK(late.error().message.starts_with(url + ": the deadline passed"));
  CHECK(http->exchange({.url = "http://no-such-host.invalid:1", .body = "{}"}, in(10s)).error().kind ==
        ErrorKind::unavailable);
  CHECK(error_of("").kind == ErrorKind::timeout);
  CHECK(error_of("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc").kind == ErrorKind::timeout);
  CHECK(error_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc").kind ==
        ErrorKind::timeout);
  CHECK(error_of("SSH-2.0-OpenSSH_9.2\r\n").kind == ErrorKind::timeout);
}

TEST_CASE("an exchange with a silent or endless server ends at the deadline") {
  const FakeGateway silent([](const FakeGateway::Request&, const FakeGateway::Send&) { return true; });
  FakeGateway endless([&endless](const FakeGateway::Request&, const FakeGateway::Send& send) {
    send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    while (!endless.stopping() && send("1\r\nx\r\n")) std::this_thread::sleep_for(5ms);
    return false;
  });
  for (const FakeGateway* server :
       {static_cast<const FakeGateway*>(&silent), static_cast<const FakeGateway*>(&endless)}) {
    const auto start = std::chrono::steady_clock::now();
    CHECK(kind_of(transport()->exchange({.url = server->url(), .body = "{}"}, in(500ms))) ==
          ErrorKind::timeout);
    CHECK(std::chrono::steady_clock::now() - start >= 490ms);
  }
  const Result<HttpReply> tried =
      transport({.try_timeout = 500ms})
          ->exchange({.url = silent.url(), .body = "{}"}, in(std::chrono::hours(1)));
  CHECK(tried.error().kind == ErrorKind::timeout);
}

TEST_CASE("a reply above the limit is an error") {
  FakeGateway endless([&endless](const FakeGateway::Request&, const FakeGateway::Send& send) {
    send("HTTP/1.1 200 OK\r\n\r\n");
    const std::string piece(1U << 20, 'x');
    while (!endless.stopping() && send(piece)) continue;
    return false;
  });
  const Result<HttpReply> reply =
      transport({.try_timeout = 60s})->exchange({.url = endless.url(), .body = "{}"}, in(60s));
  REQUIRE_FALSE(reply);
  CHECK(reply.error().kind == ErrorKind::internal);
  CHECK(reply.error().message == endless.url() + ": the reply has more than 67108864 bytes");
}

TEST_CASE("a request is not sent again when a kept connection breaks") {
  const FakeGateway server([](const FakeGateway::Request& request, const FakeGateway::Send& send) {
    return request.path == "/first" && send(FakeGateway::reply(200, "ok"));
  });
  const auto http = transport();
  for (const Method method : {Method::post, Method::put}) {
    REQUIRE(http->exchange({.url = server.url() + "/first", .body = "{}"}, in(10s)));
    const std::size_t before = server.requests().size();
    CHECK(kind_of(http->exchange({.method = method, .url = server.url() + "/second", .body = "{}"},
                                 in(10s))) == ErrorKind::timeout);
    CHECK(server.requests().size() == before + 1);
  }
}

TEST_CASE("proxies of the environment are ignored, and a redirect is not followed") {
  const FakeGateway server([](const FakeGateway::Request&, const FakeGateway::Send& send) {
    return send("HTTP/1.1 301 Moved\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n");
  });
  const std::string proxy = "http://127.0.0.1:" + std::to_string(test::unused_port());
  const test::ScopedVariable variable("http_proxy", proxy);
  const auto reply = *transport()->exchange({.method = Method::get, .url = server.url() + "/"}, in(10s));
  CHECK(reply.status == 301);
  CHECK(server.requests().size() == 1);
}

TEST_CASE("a missing file, and a certificate without its key, are refused") {
  const test::TempDir dir;
  const std::string file = dir.write("file.pem", "no certificate");
  const std::string none = dir / "none";
  const auto refused = [](Options options, const std::string& text) {
    return fails_with(Transport::make(std::move(options)), ErrorKind::configuration, text);
  };
  CHECK(refused({.ca = none}, "etcd.ca: " + none));
  CHECK(refused({.client_cert = file}, "etcd.client_cert: found no client_key"));
  CHECK(refused({.client_key = file}, "etcd.client_key: found no client_cert"));
  CHECK(refused({.client_cert = none, .client_key = file}, "etcd.client_cert: " + none));
  CHECK(refused({.client_cert = file, .client_key = none}, "etcd.client_key: " + none));
}

TEST_CASE("a file without a certificate, and a scheme other than HTTP, are errors of the configuration") {
  const test::TempDir dir;
  const std::string file = dir.write("file.pem", "no certificate");
  const FakeGateway server([](const FakeGateway::Request&, const FakeGateway::Send&) { return false; });
  const std::string url = "https" + server.url().substr(4);
  for (Options options : {Options{.ca = file}, Options{.client_cert = file, .client_key = file}}) {
    options.connect_timeout = 60s;
    CHECK(kind_of(transport(options)->exchange({.url = url}, in(60s))) == ErrorKind::configuration);
  }
  for (const std::string other : {"file:///etc/passwd", "ftp://127.0.0.1:1/", "http://[:1/"}) {
    CHECK(kind_of(transport()->exchange({.method = Method::get, .url = other}, in(10s))) ==
          ErrorKind::configuration);
  }
}

}  // namespace
}  // namespace rest_fcgi::etcd

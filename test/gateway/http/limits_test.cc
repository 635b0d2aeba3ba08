// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "gateway/body_budget.h"
#include "http_peer.h"

using namespace rest_fcgi;
using namespace rest_fcgi::gateway;
using namespace rest_fcgi::gateway::test;
using namespace rest_fcgi::test;

namespace {

std::vector<HttpPeer> send_posts(const Options& options, int count, const std::string& body) {
  std::vector<HttpPeer> peers;
  for (int i = 0; i < count; ++i) {
    peers.emplace_back(port_of(options));
    peers.back().send(http_post(body));
  }
  return peers;
}

Options with_timeouts(milliseconds head, milliseconds body, milliseconds idle) {
  return with_http(4, {.head_timeout = head, .body_timeout = body, .idle_timeout = idle});
}

const std::string kIncompleteHead = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
const std::string kIncompleteBody = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345";

}  // namespace

TEST_CASE("an incomplete head is answered with 408 after head_timeout, also if bytes keep arriving") {
  const Options options = with_timeouts(milliseconds(500), milliseconds(60000), milliseconds(60000));
  const RunningGateway server(echo, options);
  HttpPeer silent(port_of(options));
  HttpPeer half(port_of(options));
  half.send(kIncompleteHead);
  HttpPeer dribbling(port_of(options));
  dribbling.send("GET / HTTP/1.1\r\n");
  const auto end = std::chrono::steady_clock::now() + kSoon;
  while (std::chrono::steady_clock::now() < end && dribbling.send("a: b\r\n") &&
         !dribbling.closed_within(milliseconds(20))) {
  }
  CHECK(std::chrono::steady_clock::now() < end);
  CHECK(half.reply().status == 408);
  CHECK(half.closed_within(kSoon));
  CHECK(silent.closed_within(kSoon));
  CHECK(silent.reply().status == 0);
}

TEST_CASE("an incomplete body is answered with 408 after body_timeout, and an idle connection is closed") {
  const Options options = with_timeouts(milliseconds(60000), milliseconds(250), milliseconds(300));
  const RunningGateway server(echo, options);
  for (const std::string& half :
       {kIncompleteBody,
        std::string("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbo")}) {
    HttpPeer peer(port_of(options));
    CHECK(peer.request(half).status == 408);
    CHECK(peer.closed_within(kSoon));
  }
  HttpPeer idle(port_of(options));
  CHECK(idle.request(http_post("used")).body == "used");
  CHECK(idle.closed_within(kSoon));
  CHECK(idle.reply().status == 0);
}

TEST_CASE("a peer that does not read its reply is dropped after send_timeout and occupies no thread") {
  const std::string large(20'000'000, 'x');
  const Options options = with_http(1, {.send_timeout = milliseconds(4000)});
  const RunningGateway server(
      [&](const http::Environ& request) {
        return http::Response{http::Status::ok, {}, request.get("PATH_INFO") == "/large" ? large : "small"};
      },
      options);
  HttpPeer kept(port_of(options));  // A connection that closes now would be counted in some runs.
  CHECK(kept.request(http_get()).body == "small");
  const std::ptrdiff_t before = settled_open_files();
  HttpPeer stuck(port_of(options));
  stuck.send(http_get("/large"));
  CHECK(HttpPeer(port_of(options)).request(http_get()).body == "small");
  CHECK(HttpPeer(port_of(options)).request(http_get("/large")).body == large);
  CHECK(eventually([&] { return open_files() <= before + 1; }));  // The connection `stuck` is still open.
  CHECK(!stuck.reply().is_complete);
}

TEST_CASE("1000 idle connections and 300 incomplete requests occupy no thread") {
  const Options options = with_http(1);
  const RunningGateway server(echo, options);
  std::vector<HttpPeer> peers;
  for (int i = 0; i < 1000; ++i) peers.emplace_back(port_of(options));
  for (int i = 0; i < 300; ++i) {
    peers.emplace_back(port_of(options));
    peers.back().send(i % 2 == 0 ? kIncompleteHead : kIncompleteBody);
  }
  CHECK(peers.back().connected());
  HttpPeer other(port_of(options));
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 200; ++i) {
    REQUIRE(other.request(http_post("quick")).body == "quick");
    for (std::size_t slow = 1000; slow < 1300; slow += 30) peers[slow].send("x");
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
  CHECK(worker_threads() <= 2);
}

TEST_CASE("a monitoring request takes no thread from other requests") {
  Door door;
  Options options = with_http(1, {.is_monitoring = true});
  options.max_waiting = 0;
  RunningGateway server(block_slow_requests_at(door), options);
  HttpPeer monitor(port_of(options));
  monitor.send(http_post("slow"));
  REQUIRE(door.waiting(1) == 1);
  CHECK(server.connect().request(post("fast")).body == "fast");
  door.open();
  CHECK(monitor.reply().body == "slow");
}

TEST_CASE("a peer that closes at any point leaves no open descriptor") {
  Options options = with_http();
  options.idle_thread_timeout = milliseconds(200);  // Idle threads keep descriptors open until they end.
  RunningGateway server([](const http::Environ& request) { return echo(request); }, options);
  CHECK(HttpPeer(port_of(options)).request(http_post("before")).body == "before");
  const std::ptrdiff_t before = settled_open_files();
  const std::string large = http_post(std::string(500'000, 'x'));
  for (const std::string& bytes : {std::string(), std::string("G"), kIncompleteHead, kIncompleteBody,
                                   http_post("unread"), large, large.substr(0, 300'000)}) {
    for (int i = 0; i < 10; ++i) {
      HttpPeer peer(port_of(options));
      peer.send(bytes);
    }
  }
  CHECK(HttpPeer(port_of(options)).request(http_post("after")).body == "after");
  CHECK(eventually([&] { return open_files() <= before; }));
}

TEST_CASE("the server answers the next request after a client disconnected during its request") {
  Door door;
  const Options options = with_http(1);
  const RunningGateway server(block_slow_requests_at(door), options);
  HttpPeer gone(port_of(options));
  gone.send(http_post("slow"));
  REQUIRE(door.waiting(1) == 1);
  gone.close();
  door.open();
  CHECK(HttpPeer(port_of(options)).request(http_post("next")).body == "next");
}

TEST_CASE("at max_http_connections the connection that waited longest for a request is closed") {
  Options options = with_http();
  options.max_http_connections = 3;
  const RunningGateway server(echo, options);
  HttpPeer first(port_of(options));
  HttpPeer second(port_of(options));
  CHECK(second.request(http_post("second")).body == "second");
  HttpPeer third(port_of(options));
  CHECK(third.request(http_post("third")).body == "third");
  CHECK(HttpPeer(port_of(options)).request(http_post("fourth", "Connection: close\r\n")).body == "fourth");
  CHECK(first.closed_within(kSoon));
  CHECK(third.request(http_post("again")).body == "again");
}

TEST_CASE("requests beyond max_body_bytes get 503 until other bodies are freed") {
  Door door;
  Options options = with_http(8);
  options.max_body_bytes = 5000;
  const RunningGateway server(block_slow_requests_at(door), options);
  HttpPeer first(port_of(options));
  first.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4001\r\n\r\n" + std::string(4000, 'x'));
  HttpPeer second(port_of(options));
  const auto refused = [&] {
    const HttpReply reply = HttpPeer(port_of(options)).request(http_post(std::string(2000, 'x')));
    return reply.status == 503 && reply.body.find("max_body_bytes") != std::string::npos;
  };
  CHECK(eventually(refused));
  first.send("x");
  CHECK(first.reply().status == 200);
  CHECK(eventually([&] { return second.request(http_post(std::string(4500, 'x'))).status == 200; }));
}

TEST_CASE("large bodies leave a quarter of max_body_bytes for small bodies") {
  BodyBudget budget(100);
  const std::size_t large = 2'000'000;
  CHECK(budget.add(75, large));
  CHECK_FALSE(budget.add(1, large));
  CHECK(budget.add(24, 24));
  CHECK_FALSE(budget.add(1, 1));
  budget.remove(30);
  CHECK(budget.add(4, large));
}

TEST_CASE("a connection beyond max_http_connections waits while all others run a request") {
  Door door;
  Options options = with_http(8);
  options.max_http_connections = 2;
  const RunningGateway server(block_slow_requests_at(door), options);
  std::vector<HttpPeer> busy = send_posts(options, 2, "slow");
  REQUIRE(door.waiting(2) == 2);
  HttpPeer late(port_of(options));
  late.send(http_post("late"));
  CHECK(!late.closed_within(milliseconds(300)));
  door.open();
  CHECK(late.reply().body == "late");
  for (HttpPeer& peer : busy) CHECK(peer.reply().body == "slow");
}

TEST_CASE("HTTP and FastCGI share max_threads and max_waiting, and HTTP requests beyond them get 503") {
  Door door;
  Options options = with_http(2);
  options.max_waiting = 2;
  const RunningGateway server(block_slow_requests_at(door), options);
  HttpPeer first(port_of(options));
  first.send(http_post("slow"));
  REQUIRE(door.waiting(1) == 1);
  FcgiClient second = server.connect();
  second.send(post("slow"));
  REQUIRE(door.waiting(2) == 2);
  std::vector<HttpPeer> waiting;
  for (int i = 0; i < 2; ++i) {
    waiting.emplace_back(port_of(options));
    waiting.back().send(http_post("waits"));
    CHECK(!waiting.back().closed_within(milliseconds(200)));
  }
  HttpPeer refused(port_of(options));
  const HttpReply reply = refused.request(http_post("refused"));
  CHECK(reply.status == 503);
  CHECK(reply.header("Retry-After") == "1");
  CHECK(reply.body.find("max_threads") != std::string::npos);
  CHECK(reply.body.find("max_waiting") != std::string::npos);
  CHECK(eventually([&] {
    return server.connect().request(post("refused")).body.find("max_waiting") != std::string::npos;
  }));
  door.open();
  CHECK(first.reply().body == "slow");
  CHECK(second.reply().body == "slow");
  for (HttpPeer& peer : waiting) CHECK(peer.reply().body == "waits");
}

TEST_CASE("each of 16 HTTP clients gets its own replies") {
  const Options options = with_http(16);
  const RunningGateway server(echo, options);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 16; ++i) {
    clients.emplace_back([&, i] {
      HttpPeer kept(port_of(options));
      for (int n = 0; n < 100; ++n) {
        const std::string body = "client " + std::to_string(i) + " request " + std::to_string(n);
        const bool again = n % 2 == 0;
        if ((again ? kept.request(http_post(body)) : HttpPeer(port_of(options)).request(http_post(body)))
                .body != body)
          ++wrong;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  CHECK(wrong == 0);
}

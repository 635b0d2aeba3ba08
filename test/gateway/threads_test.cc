// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "descriptor_limit.h"
#include "running_gateway.h"

using namespace rest_fcgi;
using namespace rest_fcgi::gateway;
using namespace rest_fcgi::gateway::test;
using namespace rest_fcgi::test;

namespace {

std::vector<FcgiClient> send_slow(const RunningGateway& server, std::size_t count) {
  std::vector<FcgiClient> clients;
  for (std::size_t i = 0; i < count; ++i) {
    clients.push_back(server.connect());
    CHECK(clients.back().send(post("slow")));
  }
  return clients;
}

void check_answered(std::vector<FcgiClient>& clients) {
  for (FcgiClient& client : clients) CHECK(client.reply().body == "slow");
}

Options threads_between(std::size_t min, std::size_t max) {
  Options options;
  options.min_threads = min;
  options.max_threads = max;
  options.idle_thread_timeout = milliseconds(100);
  return options;
}

}  // namespace

TEST_CASE("threads are added while requests are slow, and end after idle_thread_timeout") {
  Door door;
  RunningGateway server(block_slow_requests_at(door), threads_between(2, 100));
  auto slow = send_slow(server, 50);
  CHECK(door.waiting(50) == 50);
  CHECK(server.connect().request(post("fast")).body == "fast");
  CHECK(worker_threads() > 50);
  door.open();
  check_answered(slow);
  CHECK(eventually([&] { return worker_threads() == 2; }));
  CHECK(server.connect().request(post("later")).body == "later");
}

TEST_CASE("min_threads idle threads are kept beside slow requests") {
  Door door;
  Door other;
  const auto at_doors = [&](const http::Environ& request) {
    if (request.body && *request.body == "slow") door.pass();
    if (request.body && *request.body == "short") other.pass();
    return echo(request);
  };
  RunningGateway server(at_doors, threads_between(3, 100));
  auto slow = send_slow(server, 10);
  REQUIRE(door.waiting(10) == 10);
  std::vector<FcgiClient> clients;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(server.connect());
    CHECK(clients.back().send(post("short")));
  }
  REQUIRE(other.waiting(10) == 10);
  other.open();
  for (FcgiClient& client : clients) CHECK(client.reply().body == "short");
  CHECK(eventually([&] { return worker_threads() == 10 + 3; }));
  std::this_thread::sleep_for(milliseconds(300));  // the pause is three times idle_thread_timeout
  CHECK(worker_threads() == 10 + 3);
  door.open();
  check_answered(slow);
}

TEST_CASE("requests beyond max_threads wait for a thread") {
  Door door;
  RunningGateway server(block_slow_requests_at(door), threads_between(1, 4));
  ReadableLog log;
  auto slow = send_slow(server, 10);
  CHECK(door.waiting(4) == 4);
  FcgiClient fast = server.connect();
  CHECK(fast.send(post("fast")));
  CHECK(!fast.closed_within(milliseconds(100)));
  CHECK(door.waiting(4) == 4);
  door.open();
  check_answered(slow);
  CHECK(fast.reply().body == "fast");
  CHECK(log.count("all 4 threads are busy") == 1);
}

TEST_CASE("the application refuses requests beyond max_threads and max_waiting") {
  Door door;
  Options options = threads_between(1, 2);
  options.max_waiting = 3;
  RunningGateway server(block_slow_requests_at(door), options);
  auto working = send_slow(server, 2);
  REQUIRE(door.waiting(2) == 2);
  auto waiting = send_slow(server, 3);
  const std::string refusal = "All 2 threads are busy and 3 requests wait for one (max_threads, max_waiting)";
  for (int i = 0; i < 3; ++i) {
    FcgiClient refused = server.connect();
    const FcgiReply reply = refused.request(post(std::string(100'000, 'x'), {}, true));
    CHECK(reply.body == refusal);
    CHECK(reply.ended);
    CHECK(refused.closed_within(milliseconds(10000)));
  }
  door.open();
  check_answered(working);
  check_answered(waiting);
  CHECK(server.connect().request(post("fast")).body == "fast");
}

TEST_CASE("a silent peer does not delay the refusal of other requests") {
  Door door;
  Options options = threads_between(1, 1);
  options.max_waiting = 0;
  RunningGateway server(block_slow_requests_at(door), options);
  auto working = send_slow(server, 1);
  REQUIRE(door.waiting(1) == 1);
  const FcgiClient silent = server.connect();
  CHECK(eventually(
      [&] { return server.connect().request(post("x")).body.find("All 1 threads are busy") == 0; }));
  door.open();
  check_answered(working);
}

TEST_CASE("2000 simultaneous FastCGI connections are answered") {
  Door door;
  Options options = threads_between(1, 4);
  options.max_waiting = 1996;
  RunningGateway server(block_slow_requests_at(door), options);
  auto clients = send_slow(server, 2000);
  CHECK(door.waiting(4) == 4);
  door.open();
  check_answered(clients);
}

TEST_CASE("the warning that all threads are busy is repeated after an idle time") {
  Door door;
  RunningGateway server(block_slow_requests_at(door), threads_between(1, 1));
  ReadableLog log;
  const std::string_view warning = "all 1 threads are busy";
  CHECK(server.connect().request(post("first")).ended);
  CHECK(log.count(warning) == 1);
  // After idle_thread_timeout, the gateway may log the warning again.
  CHECK(eventually([&] {
    CHECK(server.connect().request(post("next")).ended);
    std::this_thread::sleep_for(milliseconds(150));
    return log.count(warning) > 1;
  }));
}

TEST_CASE("hhvm#1690: idle kept connections do not occupy threads") {
  RunningGateway server(echo, threads_between(2, 2));
  std::vector<FcgiClient> kept;
  for (int i = 0; i < 10; ++i) {
    kept.push_back(server.connect());
    CHECK(kept.back().request(post("kept", {}, true)).body == "kept");
  }
}

TEST_CASE("each of 16 FastCGI clients gets its own replies") {
  RunningGateway server(echo, threads_between(1, 64));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 16; ++i) {
    clients.emplace_back([&, i] {
      const bool keep = i % 2 == 0;
      FcgiClient client = server.connect();
      for (int n = 0; n < 100; ++n) {
        const std::string body = "client " + std::to_string(i) + " request " + std::to_string(n);
        if (keep ? client.request(post(body, {}, true)).body != body
                 : server.connect().request(post(body)).body != body) {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& client : clients) client.join();
  CHECK(wrong == 0);
}

TEST_CASE("accepting without free descriptors is logged once and succeeds later") {
  RunningGateway server(echo, threads_between(2, 2));
  REQUIRE(eventually([] { return worker_threads() == 2; }));
  ReadableLog log;
  std::vector<FcgiClient> clients;
  {
    DescriptorLimit limit(1);  // leaves one descriptor, for the client's socket
    clients.push_back(server.connect());
    CHECK(clients.back().connected());
    CHECK(eventually(
        [&] { return log.count("cannot accept a connection, trying again: Too many open files") == 1; }));
    std::this_thread::sleep_for(milliseconds(250));
  }
  CHECK(clients.back().request(post("patient")).body == "patient");
  CHECK(log.count("cannot accept") == 1);
}

TEST_CASE("CVE-2012-6687: connections with descriptors above 1024 are served") {
  RunningGateway server(echo);
  std::vector<UniqueFd> files;
  for (int i = 0; i < 1200; ++i) files.emplace_back(::dup(0));
  REQUIRE(files.back());
  CHECK(server.connect().request(post("high")).body == "high");
}

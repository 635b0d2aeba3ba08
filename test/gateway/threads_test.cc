// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "few_files.h"
#include "served.h"

using namespace rest_fcgi;
using namespace rest_fcgi::gateway;
using namespace rest_fcgi::gateway::test;
using namespace rest_fcgi::test;

namespace {

/// Bodies `slow` wait at `door`; all others are echoed.
http::Application slow_at(Door& door) {
  return [&door](const http::Environ& request) {
    if (request.body && *request.body == "slow") door.pass();
    return echo(request);
  };
}

/// Connections on each of which a slow request was sent.
std::vector<FcgiClient> send_slow(const Served& served, std::size_t count) {
  std::vector<FcgiClient> clients;
  for (std::size_t i = 0; i < count; ++i) {
    clients.push_back(served.connect());
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

TEST_CASE("slow requests make threads, a fast one is answered meanwhile, and the threads go again") {
  Door door;
  Served served(slow_at(door), threads_between(2, 100));
  auto slow = send_slow(served, 50);
  CHECK(door.waiting(50) == 50);
  CHECK(served.connect().request(post("fast")).body == "fast");
  CHECK(workers() > 50);
  door.open();
  check_answered(slow);
  CHECK(eventually([&] { return workers() == 2; }));
  CHECK(served.connect().request(post("later")).body == "later");
}

TEST_CASE("beside slow requests min_threads are kept idle") {
  Door door;
  Door other;
  const auto at_doors = [&](const http::Environ& request) {
    if (request.body && *request.body == "slow") door.pass();
    if (request.body && *request.body == "short") other.pass();
    return echo(request);
  };
  Served served(at_doors, threads_between(3, 100));
  auto slow = send_slow(served, 10);
  REQUIRE(door.waiting(10) == 10);
  std::vector<FcgiClient> clients;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(served.connect());
    CHECK(clients.back().send(post("short")));
  }
  REQUIRE(other.waiting(10) == 10);
  other.open();
  for (FcgiClient& client : clients) CHECK(client.reply().body == "short");
  CHECK(eventually([&] { return workers() == 10 + 3; }));
  std::this_thread::sleep_for(milliseconds(300));  // three times that after which more would go
  CHECK(workers() == 10 + 3);
  door.open();
  check_answered(slow);
}

TEST_CASE("max_threads is not exceeded, and who comes later waits for a thread") {
  Door door;
  Served served(slow_at(door), threads_between(1, 4));
  ReadableLog log;
  auto slow = send_slow(served, 10);
  CHECK(door.waiting(4) == 4);
  FcgiClient fast = served.connect();
  CHECK(fast.send(post("fast")));
  CHECK(!fast.closed_within(milliseconds(100)));
  CHECK(door.waiting(4) == 4);
  door.open();
  check_answered(slow);
  CHECK(fast.reply().body == "fast");
  CHECK(log.count("all 4 threads are busy") == 1);
}

TEST_CASE("who comes while max_threads work and max_waiting wait is told so by the application") {
  Door door;
  Options options = threads_between(1, 2);
  options.max_waiting = 3;
  Served served(slow_at(door), options);
  auto working = send_slow(served, 2);
  REQUIRE(door.waiting(2) == 2);
  auto waiting = send_slow(served, 3);
  const std::string refusal = "All 2 threads are busy and 3 requests wait for one (max_threads, max_waiting)";
  for (int i = 0; i < 3; ++i) {
    FcgiClient refused = served.connect();
    const FcgiReply reply = refused.request(post(std::string(100'000, 'x'), {}, true));
    CHECK(reply.body == refusal);
    CHECK(reply.ended);
    CHECK(refused.closed_within(milliseconds(10000)));
  }
  door.open();
  check_answered(working);
  check_answered(waiting);
  CHECK(served.connect().request(post("fast")).body == "fast");
}

TEST_CASE("a peer that says nothing does not hold up the refusal of others") {
  Door door;
  Options options = threads_between(1, 1);
  options.max_waiting = 0;
  Served served(slow_at(door), options);
  auto working = send_slow(served, 1);
  REQUIRE(door.waiting(1) == 1);
  const FcgiClient silent = served.connect();
  CHECK(eventually(
      [&] { return served.connect().request(post("x")).body.find("All 1 threads are busy") == 0; }));
  door.open();
  check_answered(working);
}

TEST_CASE("many more connections at once than the kernel's queue was made for are all answered") {
  Door door;
  Options options = threads_between(1, 4);
  options.max_waiting = 1996;
  Served served(slow_at(door), options);
  auto clients = send_slow(served, 2000);
  CHECK(door.waiting(4) == 4);
  door.open();
  check_answered(clients);
}

TEST_CASE("that all threads are busy is said again the next time") {
  Door door;
  Served served(slow_at(door), threads_between(1, 1));
  ReadableLog log;
  const std::string_view warning = "all 1 threads are busy";
  CHECK(served.connect().request(post("first")).ended);
  CHECK(log.count(warning) == 1);
  // With its idle time-out the thread notices that it was not needed for a while.
  CHECK(eventually([&] {
    CHECK(served.connect().request(post("next")).ended);
    std::this_thread::sleep_for(milliseconds(150));
    return log.count(warning) > 1;
  }));
}

TEST_CASE("hhvm#1690: kept connections that are not used make room for new ones") {
  Served served(echo, threads_between(2, 2));
  std::vector<FcgiClient> kept;
  for (int i = 0; i < 10; ++i) {
    kept.push_back(served.connect());
    CHECK(kept.back().request(post("kept", {}, true)).body == "kept");
  }
}

TEST_CASE("many clients at once get each its own answer") {
  Served served(echo, threads_between(1, 64));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 16; ++i) {
    clients.emplace_back([&, i] {
      const bool keep = i % 2 == 0;
      FcgiClient client = served.connect();
      for (int n = 0; n < 100; ++n) {
        const std::string body = "client " + std::to_string(i) + " request " + std::to_string(n);
        if (keep ? client.request(post(body, {}, true)).body != body
                 : served.connect().request(post(body)).body != body) {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& client : clients) client.join();
  CHECK(wrong == 0);
}

TEST_CASE("a connection that cannot be accepted is said once and accepted when it can") {
  Served served(echo, threads_between(2, 2));
  REQUIRE(eventually([] { return workers() == 2; }));
  ReadableLog log;
  std::vector<FcgiClient> clients;
  {
    // One for the client's side of the connection.
    FewFiles files(1);
    clients.push_back(served.connect());
    CHECK(clients.back().connected());
    CHECK(eventually(
        [&] { return log.count("cannot accept a connection, trying again: Too many open files") == 1; }));
    std::this_thread::sleep_for(milliseconds(250));
  }
  CHECK(clients.back().request(post("patient")).body == "patient");
  CHECK(log.count("cannot accept") == 1);
}

TEST_CASE("CVE-2012-6687: connections whose numbers are far beyond 1024 are served") {
  Served served(echo);
  std::vector<UniqueFd> files;
  for (int i = 0; i < 1200; ++i) files.emplace_back(::dup(0));
  REQUIRE(files.back());
  CHECK(served.connect().request(post("high")).body == "high");
}

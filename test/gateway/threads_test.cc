// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../support/limit.h"
#include "rest_fcgi/core/unique_fd.h"
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

TEST_CASE("hhvm#1690: idle kept connections do not occupy threads") {
  RunningGateway server(echo, threads_between(2, 2));
  std::vector<FcgiClient> kept;
  for (int i = 0; i < 10; ++i) {
    kept.push_back(server.connect());
    CHECK(kept.back().request(post("kept", {}, true)).body == "kept");
  }
}

TEST_CASE("accepting without free descriptors is logged once and succeeds later") {
  RunningGateway server(echo, threads_between(2, 2));
  REQUIRE(eventually([] { return worker_threads() == 2; }));
  const TempDir dir;
  REQUIRE(log::open({.level = log::Level::info, .file = dir / "log", .audit_file = {}}));
  std::ifstream file(dir / "log");  // opened here, because the test uses up all descriptors below
  const auto is_logged_once = [&file] {
    file.clear();
    file.seekg(0);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::size_t at = text.find("cannot accept a connection, trying again: Too many open files");
    return at != std::string::npos && text.find("cannot accept", at + 1) == std::string::npos;
  };
  std::vector<FcgiClient> clients;
  {
    const Limit few_files(RLIMIT_NOFILE, 1024);
    std::vector<UniqueFd> others;
    while (others.emplace_back(::dup(0)).is_open()) continue;
    others.resize(others.size() - 2);  // leaves one descriptor, for the client's socket
    clients.push_back(server.connect());
    CHECK(clients.back().connected());
    CHECK(eventually(is_logged_once));
    std::this_thread::sleep_for(milliseconds(250));
  }
  CHECK(clients.back().request(post("patient")).body == "patient");
  CHECK(is_logged_once());
}

TEST_CASE("CVE-2012-6687: connections with descriptors above 1024 are served") {
  RunningGateway server(echo);
  std::vector<UniqueFd> files;
  for (int i = 0; i < 1200; ++i) files.emplace_back(::dup(0));
  REQUIRE(files.back());
  CHECK(server.connect().request(post("high")).body == "high");
}

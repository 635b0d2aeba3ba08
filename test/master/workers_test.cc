// SPDX-License-Identifier: MIT
#include "rest_fcgi/master/workers.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <latch>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "../support/captured_log.h"

using namespace rest_fcgi;
using namespace rest_fcgi::master;

namespace {

SteadyTime soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(20);
}
SteadyTime now() {
  return std::chrono::steady_clock::now();
}

void submit(Workers& workers, Workers::Task task) {
  auto room = workers.reserve("fred", 1);
  REQUIRE(room);
  room->submit(std::move(task));
}

void until_stop(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait(lock, stop, [] { return false; });
}

}  // namespace

TEST_CASE("tasks run in parallel, up to the number of threads") {
  Workers workers({4, 0});
  std::latch all_there(4);
  for (int i = 0; i < 4; ++i) submit(workers, [&](const std::stop_token&) { all_there.arrive_and_wait(); });
  CHECK(workers.close(soon()));
}

TEST_CASE("further tasks wait, and run in order") {
  Workers workers({1, 100});
  std::vector<int> order;
  for (int i = 0; i < 50; ++i) submit(workers, [&order, i](const std::stop_token&) { order.push_back(i); });
  CHECK(workers.close(soon()));
  CHECK(order.size() == 50);
  CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("users take turns in the queue") {
  Workers workers({1, 100});
  std::latch started(1);
  std::latch all_wait(1);
  std::string order;
  submit(workers, [&](const std::stop_token&) {
    started.count_down();
    all_wait.wait();
  });
  started.wait();
  for (const char user : {'b', 'b', 'b', 'b', 'a', 'c', 'c'}) {
    auto room = workers.reserve(std::string(1, user), 1);
    REQUIRE(room);
    room->submit([&order, user](const std::stop_token&) { order += user; });
  }
  all_wait.count_down();
  CHECK(workers.close(soon()));
  std::string counts = order;
  std::sort(counts.begin(), counts.end());
  CHECK(counts == "abbbbcc");
  CHECK(order.substr(5) == "bb");
}

TEST_CASE("a reservation beyond the limit is refused, and one keeps its places until it is destroyed") {
  Workers workers({2, 3});
  CHECK(workers.reserve("fred", 6).error().kind == ErrorKind::unavailable);
  {
    const auto room = workers.reserve("fred", 5);
    REQUIRE(room);
    CHECK_FALSE(workers.reserve("fred", 1));
  }
  CHECK(workers.reserve("fred", 5));
}

TEST_CASE("running tasks count for the limit") {
  Workers workers({1, 1});
  std::latch started(1);
  submit(workers, [&](const std::stop_token& stop) {
    started.count_down();
    until_stop(stop);
  });
  started.wait();
  CHECK_FALSE(workers.reserve("fred", 2));
  CHECK(workers.reserve("fred", 1));
}

TEST_CASE("an exception ends only its task") {
  Workers workers({1, 1});
  std::atomic<bool> ran{false};
  const test::CapturedLog log;
  submit(workers, [](const std::stop_token&) { throw std::runtime_error("no luck"); });
  submit(workers, [&](const std::stop_token&) { ran = true; });
  CHECK(workers.close(soon()));
  CHECK(ran);
  CHECK(log.has("a background task failed: no luck"));
}

TEST_CASE("close waits for the tasks of a reservation, and refuses later ones") {
  Workers workers({1, 1});
  auto room = workers.reserve("fred", 1);
  REQUIRE(room);
  CHECK_FALSE(workers.close(now()));
  std::atomic<bool> ran{false};
  room->submit([&](const std::stop_token&) { ran = true; });
  CHECK(workers.close(soon()));
  CHECK(ran);
  CHECK(workers.reserve("fred", 1).error().message == "The server is shutting down.");
}

TEST_CASE("close ends at its deadline, and stop ends running tasks") {
  Workers workers({1, 10});
  std::atomic<bool> waiting_ran{false};
  submit(workers, until_stop);
  submit(workers, [&](const std::stop_token&) { waiting_ran = true; });
  CHECK_FALSE(workers.close(now()));
  workers.stop();
  CHECK(workers.close(soon()));
  CHECK_FALSE(waiting_ran);
}

TEST_CASE("a task that does not stop keeps its objects after the workers are destroyed") {
  struct Latches {
    std::latch started{1};
    std::latch release{1};
    std::latch ended{1};
  };
  const auto latches = std::make_shared<Latches>();
  {
    Workers workers({1, 0});
    submit(workers, [latches](const std::stop_token&) {
      latches->started.count_down();
      latches->release.wait();
      latches->ended.count_down();
    });
    latches->started.wait();
  }
  latches->release.count_down();
  latches->ended.wait();
  CHECK(latches->ended.try_wait());
}

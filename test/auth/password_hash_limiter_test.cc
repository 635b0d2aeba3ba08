// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/password_hash_limiter.h"

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace rest_fcgi::auth {
namespace {

constexpr SteadyTime kNow{};  // With a deadline in the past, `enter` does not wait.
constexpr SteadyTime kEver = SteadyTime::max();

ErrorKind refusal(PasswordHashLimiter& limiter, const std::string& network) {
  return limiter.enter(network, kNow).error().kind;
}

class Queue {
 public:
  explicit Queue(PasswordHashLimiter& limiter) : limiter_(limiter) {}
  ~Queue() { join(); }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  void add(const std::string& network) {
    const std::size_t before = limiter_.waiting();
    threads_.emplace_back([this, network] {
      const auto pass = limiter_.enter(network, kEver);
      const std::lock_guard lock(mutex_);
      (pass ? in_ : out_).push_back(network);
    });
    while (limiter_.waiting() == before) std::this_thread::yield();
  }

  std::size_t waiting() {
    const std::lock_guard lock(mutex_);
    return threads_.size() - in_.size() - out_.size();
  }

  const std::vector<std::string>& in() {
    join();
    return in_;
  }
  const std::vector<std::string>& out() {
    join();
    return out_;
  }

 private:
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  PasswordHashLimiter& limiter_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::vector<std::string> in_;
  std::vector<std::string> out_;
};

}  // namespace

TEST_CASE("at_once bounds the concurrent checks") {
  PasswordHashLimiter limiter({.at_once = 2});
  const auto first = limiter.enter("a", kNow);
  CHECK(first);
  {
    const auto second = limiter.enter("a", kNow);
    CHECK(second);
    CHECK(refusal(limiter, "b") == ErrorKind::timeout);
  }
  CHECK(limiter.enter("b", kNow));
}

TEST_CASE("addresses take turns, so many passwords of one address delay only its own") {
  PasswordHashLimiter limiter({.at_once = 1});
  Queue queue(limiter);
  {
    const auto shut = limiter.enter("a", kNow);
    REQUIRE(shut);
    for (int i = 0; i < 50; ++i) queue.add("a");
    queue.add("b");
    queue.add("c");
    queue.add("b");
  }
  REQUIRE(queue.in().size() == 53);
  const std::vector<std::string> first(queue.in().begin(), queue.in().begin() + 6);
  CHECK(first == std::vector<std::string>{"a", "b", "c", "a", "b", "a"});
}

TEST_CASE("an IPv6 /64 has one queue, which loses its last waiter to a shorter one") {
  PasswordHashLimiter limiter({.at_once = 1, .waiting = 2});
  Queue queue(limiter);
  {
    const auto shut = limiter.enter("192.0.2.7", kNow);
    REQUIRE(shut);
    queue.add("2001:db8:1:1::1");
    queue.add("2001:db8:1:1::2");
    CHECK(refusal(limiter, "2001:db8:1:1::3") == ErrorKind::unavailable);
    CHECK(refusal(limiter, "192.0.2.8") == ErrorKind::timeout);
  }
  CHECK(queue.in() == std::vector<std::string>{"2001:db8:1:1::1"});
  CHECK(queue.out() == std::vector<std::string>{"2001:db8:1:1::2"});
}

TEST_CASE("of_one bounds the concurrent checks of one address, and others pass it") {
  PasswordHashLimiter limiter({.at_once = 3, .of_one = 2});
  Queue queue(limiter);
  {
    const auto first = limiter.enter("a", kNow);
    const auto second = limiter.enter("a", kNow);
    REQUIRE(first);
    REQUIRE(second);
    CHECK(refusal(limiter, "a") == ErrorKind::timeout);
    queue.add("a");
    {
      const auto other = limiter.enter("b", kNow);
      CHECK(other);
      queue.add("c");
    }
    while (queue.waiting() > 1) std::this_thread::yield();
  }
  CHECK(queue.in() == std::vector<std::string>{"c", "a"});
}

TEST_CASE("a waiter that reaches its deadline does not delay those behind it") {
  PasswordHashLimiter limiter({.at_once = 1});
  std::thread late;
  {
    const auto shut = limiter.enter("a", kNow);
    REQUIRE(shut);
    const SteadyTime soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
    CHECK_FALSE(limiter.enter("b", soon));
    late = std::thread([&] { CHECK(limiter.enter("c", kEver)); });
    while (limiter.waiting() == 0) std::this_thread::yield();
  }
  late.join();
  CHECK(limiter.waiting() == 0);
}

}  // namespace rest_fcgi::auth

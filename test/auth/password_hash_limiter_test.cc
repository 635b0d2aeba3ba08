// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/password_hash_limiter.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace rest_fcgi::auth {
namespace {

constexpr SteadyTime kNow{};  // is over: nobody waits
constexpr SteadyTime kEver = SteadyTime::max();
constexpr std::size_t kMiB = std::size_t{1} << 20;

ErrorKind refusal(PasswordHashLimiter& limiter, const std::string& network, std::size_t memory) {
  const auto pass = limiter.enter(network, memory, kNow);
  REQUIRE_FALSE(pass);
  return pass.error().kind;
}

/// Threads that wait for a limiter which is full.
class Queue {
 public:
  explicit Queue(PasswordHashLimiter& limiter) : limiter_(limiter) {}
  ~Queue() { join(); }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Comes back when that thread waits.
  void add(const std::string& network, std::size_t memory = 0) {
    const std::size_t before = limiter_.waiting();
    threads_.emplace_back([this, network, memory] {
      const auto pass = limiter_.enter(network, memory, kEver);
      const std::lock_guard lock(mutex_);
      (pass ? in_ : out_).push_back(network);
    });
    while (limiter_.waiting() == before) std::this_thread::yield();
  }

  /// Threads that neither went in nor gave way yet.
  std::size_t waiting() {
    const std::lock_guard lock(mutex_);
    return threads_.size() - in_.size() - out_.size();
  }

  /// The networks of those that went in, in this order.
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
  std::vector<std::string> in_;   // guarded by mutex_ until the threads are joined
  std::vector<std::string> out_;  // the same
};

}  // namespace

TEST_CASE("as many hashes go on at once as there are cores") {
  CHECK(PasswordHashLimiter::cores() >= 1);
  PasswordHashLimiter limiter({.at_once = 2});
  const auto first = limiter.enter("a", 0, kNow);
  CHECK(first);
  {
    const auto second = limiter.enter("a", 0, kNow);
    CHECK(second);
    CHECK(refusal(limiter, "b", 0) == ErrorKind::timeout);
  }
  CHECK(limiter.enter("b", 0, kNow));
}

TEST_CASE("hashes take no more memory together than there is for them") {
  PasswordHashLimiter limiter({.at_once = 8, .memory = 32 * kMiB});
  const auto first = limiter.enter("a", 16 * kMiB, kNow);
  CHECK(first);
  {
    const auto second = limiter.enter("a", 16 * kMiB, kNow);
    CHECK(second);
    CHECK(refusal(limiter, "b", 1) == ErrorKind::timeout);
    CHECK(limiter.enter("b", 0, kNow));
  }
  CHECK(limiter.enter("b", 16 * kMiB, kNow));
}

TEST_CASE("a hash that takes more than all memory there is goes alone") {
  PasswordHashLimiter limiter({.at_once = 8, .memory = 32 * kMiB});
  {
    const auto small = limiter.enter("a", 1, kNow);
    CHECK(refusal(limiter, "a", 64 * kMiB) == ErrorKind::timeout);
  }
  const auto large = limiter.enter("a", 64 * kMiB, kNow);
  CHECK(large);
  CHECK(refusal(limiter, "a", 1) == ErrorKind::timeout);
}

TEST_CASE("an address that brings many passwords keeps its own waiting, and no others") {
  PasswordHashLimiter limiter({.at_once = 1});
  Queue queue(limiter);
  {
    const auto shut = limiter.enter("a", 0, kNow);
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

TEST_CASE("networks of one IPv6 site stand in one line, which gives way to others") {
  PasswordHashLimiter limiter({.at_once = 1, .waiting = 2});
  Queue queue(limiter);
  {
    const auto shut = limiter.enter("192.0.2.7", 0, kNow);
    REQUIRE(shut);
    queue.add("2001:db8:1:1::1");
    queue.add("2001:db8:1:2::1");
    CHECK(refusal(limiter, "2001:db8:1:3::1", 0) == ErrorKind::unavailable);
    CHECK(refusal(limiter, "192.0.2.8", 0) == ErrorKind::timeout);
  }
  CHECK(queue.in() == std::vector<std::string>{"2001:db8:1:1::1"});
  CHECK(queue.out() == std::vector<std::string>{"2001:db8:1:2::1"});
}

TEST_CASE("an address has no more at once than it may, and others pass its line") {
  PasswordHashLimiter limiter({.at_once = 3, .of_one = 2});
  Queue queue(limiter);
  {
    const auto first = limiter.enter("a", 0, kNow);
    const auto second = limiter.enter("a", 0, kNow);
    REQUIRE(first);
    REQUIRE(second);
    CHECK(refusal(limiter, "a", 0) == ErrorKind::timeout);
    queue.add("a");
    {
      const auto other = limiter.enter("b", 0, kNow);
      CHECK(other);
      queue.add("c");
    }
    while (queue.waiting() > 1) std::this_thread::yield();
  }
  CHECK(queue.in() == std::vector<std::string>{"c", "a"});
}

TEST_CASE("who needs much memory is not overtaken for ever by those who need little") {
  PasswordHashLimiter limiter({.at_once = 2, .memory = 32 * kMiB});
  Queue queue(limiter);
  {
    const auto shut = limiter.enter("a", kMiB, kNow);
    REQUIRE(shut);
    queue.add("large", 32 * kMiB);
    CHECK(refusal(limiter, "small", 0) == ErrorKind::timeout);
  }
  CHECK(queue.in().size() == 1);
  CHECK(limiter.enter("small", 0, kNow));
}

TEST_CASE("who gives up no longer stands in the way of those behind") {
  PasswordHashLimiter limiter({.at_once = 2, .memory = 32 * kMiB});
  const auto shut = limiter.enter("a", kMiB, kNow);
  REQUIRE(shut);
  const SteadyTime soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  std::atomic<bool> has_given_up = false;
  std::thread large([&] {
    CHECK_FALSE(limiter.enter("large", 32 * kMiB, soon));
    has_given_up = true;
  });
  while (limiter.waiting() == 0 && !has_given_up) std::this_thread::yield();
  CHECK(limiter.enter("small", 0, kEver));
  large.join();
  CHECK(limiter.waiting() == 0);
}

TEST_CASE("where too many wait, the longest line gives way to a shorter one, and only to that") {
  PasswordHashLimiter limiter({.at_once = 1, .waiting = 4});
  Queue queue(limiter);
  std::vector<std::thread> newcomers;
  {
    const auto shut = limiter.enter("a", 0, kNow);
    REQUIRE(shut);
    for (int i = 0; i < 4; ++i) queue.add("a");
    CHECK(refusal(limiter, "a", 0) == ErrorKind::unavailable);
    for (const std::size_t left : {3U, 2U}) {
      newcomers.emplace_back([&] { CHECK(limiter.enter("b", 0, kEver)); });
      while (queue.waiting() > left) std::this_thread::yield();
    }
    CHECK(refusal(limiter, "b", 0) == ErrorKind::unavailable);
  }
  for (std::thread& thread : newcomers) thread.join();
  CHECK(queue.in().size() == 2);
  CHECK(queue.out().size() == 2);
}

TEST_CASE("many threads all have their turn, and never too many at once") {
  PasswordHashLimiter limiter({.at_once = 3, .memory = 4});
  std::atomic<int> inside = 0;
  std::atomic<int> done = 0;
  std::atomic<bool> too_many = false;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 32; ++i) {
    threads.emplace_back([&, i] {
      for (std::size_t n = 0; n < 50; ++n) {
        const auto pass = limiter.enter(std::to_string(i % 5), (i + n) % 4, kEver);
        if (++inside > 3) too_many = true;
        if (pass) ++done;
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(done == 32 * 50);
  CHECK_FALSE(too_many);
  CHECK(limiter.waiting() == 0);
}

}  // namespace rest_fcgi::auth

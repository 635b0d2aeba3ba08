// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/limiter.h"

#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../support/eventually.h"

namespace rest_fcgi {
namespace {

using std::chrono::milliseconds;
using Class = Limiter::Class;

constexpr SteadyTime kNow{};  // With a deadline in the past, `enter` does not wait.
constexpr SteadyTime kEver = SteadyTime::max();

Limiter::Limits limits(std::vector<Class> classes) {
  return {.what = "tests", .classes = std::move(classes)};
}

Limiter::Pass enter(Limiter& limiter, std::size_t index = 0, const std::string& key = {}) {
  auto pass = limiter.enter(index, key, kNow);
  REQUIRE(pass);
  return *std::move(pass);
}

ErrorKind refusal(Limiter& limiter, std::size_t index = 0, const std::string& key = {}) {
  return limiter.enter(index, key, kNow).error().kind;
}

/// Threads that wait for the limiter. A thread records its name when it is admitted, and `!` if it is
/// refused.
class Queue {
 public:
  explicit Queue(Limiter& limiter) : limiter_(limiter) {}
  ~Queue() { join(); }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  void add(char name, std::size_t index = 0, const std::string& key = {}) {
    const std::size_t before = limiter_.waiting();
    threads_.emplace_back([this, name, index, key] {
      const auto pass = limiter_.enter(index, key, kEver);
      const std::scoped_lock lock(mutex_);
      order_ += pass ? name : '!';
    });
    REQUIRE(test::eventually([&] { return limiter_.waiting() == before + 1; }));
  }

  [[nodiscard]] bool becomes(std::string_view order) const {
    return test::eventually([&] {
      const std::scoped_lock lock(mutex_);
      return order_ == order;
    });
  }

  /// Returns the order after all threads have ended.
  const std::string& order() {
    join();
    return order_;
  }

 private:
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  Limiter& limiter_;
  mutable std::mutex mutex_;
  std::string order_;
  std::vector<std::thread> threads_;
};

}  // namespace

TEST_CASE("at most at_once threads of a class work at the same time") {
  Limiter limiter(limits({{.at_once = 2}}));
  const auto first = enter(limiter);
  {
    const auto second = enter(limiter);
    CHECK(refusal(limiter) == ErrorKind::timeout);
    CHECK(limiter.working() == 2);
  }
  CHECK(enter(limiter));
}

TEST_CASE("keys take turns, so many threads of one key delay only their own key") {
  Limiter limiter(limits({{.at_once = 1}}));
  Queue queue(limiter);
  {
    const auto shut = enter(limiter, 0, "a");
    for (int i = 0; i < 50; ++i) queue.add('a', 0, "a");
    queue.add('b', 0, "b");
    queue.add('c', 0, "c");
    queue.add('b', 0, "b");
  }
  CHECK(queue.order().size() == 53);
  CHECK(queue.order().starts_with("abcaba"));
}

TEST_CASE("of_one limits the threads of one key, and threads of other keys overtake them") {
  Limiter limiter(limits({{.at_once = 3, .of_one = 2}}));
  Queue queue(limiter);
  {
    const auto first = enter(limiter, 0, "a");
    const auto second = enter(limiter, 0, "a");
    CHECK(refusal(limiter, 0, "a") == ErrorKind::timeout);
    queue.add('a', 0, "a");
    {
      const auto other = enter(limiter, 0, "b");
      queue.add('c', 0, "c");
    }
    CHECK(queue.becomes("c"));
  }
  CHECK(queue.order() == "ca");
}

TEST_CASE("classes are served in the order of arrival") {
  Limiter limiter(limits({{.of_all = 1}, {.at_once = 1, .of_all = 1}, {.of_all = 1}}));
  Queue queue(limiter);
  {
    const auto only = enter(limiter);
    queue.add('a', 1);
    queue.add('b', 0);
    queue.add('c', 1);
    queue.add('d', 2);
    queue.add('e', 0);
  }
  CHECK(queue.order() == "abcde");
}

TEST_CASE("a thread of a full class begins when its class has a place") {
  Limiter limiter(limits({{.of_all = 3}, {.at_once = 1, .of_all = 3}}));
  std::optional first = enter(limiter, 1);
  std::optional second = enter(limiter);
  const auto third = enter(limiter);
  Queue queue(limiter);
  queue.add('a', 1);
  queue.add('b', 1);
  queue.add('c');
  second.reset();
  CHECK(queue.becomes("c"));
  first.reset();
  CHECK(queue.becomes("cab"));
}

TEST_CASE("a thread that reaches its deadline does not delay later threads") {
  Limiter limiter(limits({{.at_once = 1}}));
  Queue queue(limiter);
  {
    const auto only = enter(limiter);
    const Error late = limiter.enter(0, "b", std::chrono::steady_clock::now() + milliseconds(50)).error();
    CHECK(late.kind == ErrorKind::timeout);
    CHECK(late.message.find("did not begin") != std::string::npos);
    CHECK(limiter.waiting() == 0);
    queue.add('a');
  }
  CHECK(queue.order() == "a");
}

TEST_CASE("the number of waiting threads of a class is limited") {
  Limiter limiter(limits({{.at_once = 1, .waiting = 2}, {}}));
  Queue queue(limiter);
  {
    const auto only = enter(limiter);
    queue.add('a');
    queue.add('b');
    const Error error = limiter.enter(0, {}, kEver).error();
    CHECK(error.kind == ErrorKind::unavailable);
    CHECK(error.message.starts_with("Too many tests are waiting"));
    CHECK(enter(limiter, 1));
  }
  CHECK(queue.order() == "ab");
}

TEST_CASE("the longest queue loses its last thread to a key with fewer waiting threads") {
  Limiter limiter(limits({{.at_once = 1, .waiting = 2}}));
  Queue queue(limiter);
  {
    const auto only = enter(limiter);
    queue.add('a', 0, "a");
    queue.add('b', 0, "a");
    CHECK(refusal(limiter, 0, "a") == ErrorKind::unavailable);
    CHECK(refusal(limiter, 0, "b") == ErrorKind::timeout);
    CHECK(queue.becomes("!"));
  }
  CHECK(queue.order() == "!a");
}

TEST_CASE("close refuses waiting threads and waits for working threads") {
  Limiter limiter(limits({{.at_once = 1}, {.of_all = 1}}));
  std::optional only = enter(limiter);
  Queue queue(limiter);
  queue.add('a');
  queue.add('b', 1);
  const auto close = std::async(std::launch::async, [&] { limiter.close(); });
  CHECK(queue.becomes("!!"));
  CHECK(refusal(limiter, 1) == ErrorKind::unavailable);
  CHECK(close.wait_for(milliseconds(20)) == std::future_status::timeout);
  only.reset();
  CHECK(close.wait_for(std::chrono::seconds(30)) == std::future_status::ready);
}

}  // namespace rest_fcgi

// SPDX-License-Identifier: MIT
#include "master/salt/requests/fair_queue.h"

#include <array>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "requests.h"

namespace rest_fcgi::salt {
namespace {

using std::chrono::milliseconds;
using test::late;
using Place = FairQueue::Place;

PoolOptions of(std::size_t connections, std::size_t worker_threads, std::size_t max_waiting = 100) {
  return {.connections = connections, .worker_threads = worker_threads, .max_waiting = max_waiting};
}

Place take(FairQueue& fair_queue, PriorityClass priority = PriorityClass::publish) {
  auto place = fair_queue.take(priority, late());
  REQUIRE(place);
  return *std::move(place);
}

bool is_full(FairQueue& fair_queue, PriorityClass priority = PriorityClass::publish) {
  return !fair_queue.take(priority, std::chrono::steady_clock::now());
}

/// Threads that wait in the queue. A thread records its name when the queue lets it in.
class Queue {
 public:
  explicit Queue(FairQueue& fair_queue) : fair_queue_(fair_queue) {}
  ~Queue() {
    for (auto& thread : threads_) thread.join();
  }

  void add(char name, PriorityClass priority = PriorityClass::publish) {
    const std::size_t before = fair_queue_.waiting();
    threads_.emplace_back([this, priority, name] {
      const auto place = fair_queue_.take(priority, late());
      const std::scoped_lock lock(mutex_);
      order_ += place ? name : place.error().kind == ErrorKind::unavailable ? '!' : '?';
    });
    REQUIRE(test::eventually([&] { return fair_queue_.waiting() == before + 1; }));
  }

  [[nodiscard]] std::string order() const {
    const std::scoped_lock lock(mutex_);
    return order_;
  }

  [[nodiscard]] bool becomes(std::string_view order) const {
    return test::eventually([&] { return this->order() == order; });
  }

 private:
  FairQueue& fair_queue_;
  mutable std::mutex mutex_;
  std::string order_;
  std::vector<std::thread> threads_;
};

}  // namespace

TEST_CASE("the limit of a class leaves workers and connections for others") {
  using enum PriorityClass;
  constexpr PriorityClass kClasses[] = {publish, question, runner, wheel, wheel_async, login, token};
  struct Row {
    std::size_t connections, workers, limits[7];
  };
  for (const Row& row : {Row{16, 5, {16, 4, 4, 3, 2, 3, 3}}, Row{16, 4, {16, 4, 3, 2, 1, 2, 2}},
                         Row{16, 1, {16, 4, 1, 1, 1, 1, 1}}, Row{16, 2, {16, 4, 1, 1, 1, 1, 1}},
                         Row{16, 3, {16, 4, 2, 1, 1, 1, 2}}, Row{16, 40, {16, 4, 8, 8, 8, 8, 8}},
                         Row{4, 5, {4, 1, 2, 2, 1, 2, 2}}, Row{1, 5, {1, 1, 1, 1, 1, 1, 1}},
                         Row{0, 0, {1, 1, 1, 1, 1, 1, 1}}}) {
    for (std::size_t i = 0; i < std::size(kClasses); ++i) {
      CHECK_MESSAGE(class_limit(kClasses[i], of(row.connections, row.workers)) == row.limits[i], i);
    }
  }
}

TEST_CASE("logins and wheels together leave one worker free") {
  FairQueue fair_queue(of(16, 5));
  std::vector<Place> taken;
  for (int i = 0; i < 3; ++i) taken.push_back(take(fair_queue, PriorityClass::wheel));
  CHECK(is_full(fair_queue, PriorityClass::wheel));
  taken.push_back(take(fair_queue, PriorityClass::login));
  CHECK(is_full(fair_queue, PriorityClass::login));
  taken.push_back(take(fair_queue));
  taken.erase(taken.begin());
  CHECK_FALSE(is_full(fair_queue, PriorityClass::login));
}

TEST_CASE("asynchronous wheels leave places for other classes") {
  FairQueue fair_queue(of(16, 4));
  Place slow = take(fair_queue, PriorityClass::wheel_async);
  CHECK(is_full(fair_queue, PriorityClass::wheel_async));
  const Place wheel = take(fair_queue, PriorityClass::wheel);
  const Place runner = take(fair_queue, PriorityClass::runner);
  const Place login = take(fair_queue, PriorityClass::login);
  // The requests above occupy all workers of the master but one.
  CHECK(is_full(fair_queue, PriorityClass::login));
  fair_queue.stall(slow);
  CHECK_FALSE(is_full(fair_queue, PriorityClass::login));
  // The stalled wheel can still occupy a worker, so it counts as an asynchronous wheel.
  CHECK(is_full(fair_queue, PriorityClass::wheel_async));
  slow.reset();
  CHECK_FALSE(is_full(fair_queue, PriorityClass::wheel_async));
}

TEST_CASE("a stalled request frees its place") {
  FairQueue fair_queue(of(1, 5));
  Place stuck = take(fair_queue);
  CHECK(is_full(fair_queue));
  fair_queue.stall(stuck);
  fair_queue.stall(stuck);
  Place second = take(fair_queue);
  fair_queue.stall(second);
  Place third = take(fair_queue);
  fair_queue.stall(third);
  Place fourth = take(fair_queue);
  // Three stalled requests are the limit for one connection, so this call has no effect.
  fair_queue.stall(fourth);
  CHECK(is_full(fair_queue));
  stuck.reset();
  fair_queue.stall(fourth);
  CHECK_FALSE(is_full(fair_queue));
  auto ended = std::async(std::launch::async, [&] { fair_queue.close(); });
  second.reset();
  third.reset();
  CHECK(ended.wait_for(milliseconds(20)) == std::future_status::timeout);
  fourth.reset();
  ended.get();
}

TEST_CASE("waiting requests start in the order of arrival") {
  FairQueue fair_queue(of(1, 5));
  std::optional<Place> only = take(fair_queue);
  Queue queue(fair_queue);
  queue.add('a', PriorityClass::login);
  queue.add('b');
  queue.add('c', PriorityClass::login);
  queue.add('d', PriorityClass::question);
  queue.add('e', PriorityClass::wheel);
  queue.add('f');
  CHECK(queue.order().empty());
  only.reset();
  CHECK(queue.becomes("abcdef"));
}

TEST_CASE("a request of a full class starts when its class has a place") {
  FairQueue fair_queue(of(3, 2));
  std::optional<Place> login = take(fair_queue, PriorityClass::login);
  std::optional<Place> publish = take(fair_queue);
  const Place other = take(fair_queue);
  Queue queue(fair_queue);
  queue.add('a', PriorityClass::login);
  queue.add('b', PriorityClass::login);
  queue.add('c');
  publish.reset();
  CHECK(queue.becomes("c"));
  login.reset();
  CHECK(queue.becomes("cab"));
}

TEST_CASE("waiting for a place ends at the deadline") {
  FairQueue fair_queue(of(1, 5));
  std::optional<Place> only = take(fair_queue);
  const auto place = fair_queue.take(PriorityClass::publish, test::in(milliseconds(20)));
  REQUIRE(!place);
  CHECK(place.error().kind == ErrorKind::timeout);
  CHECK(place.error().message.find("nothing was sent") != std::string::npos);
  CHECK(fair_queue.waiting() == 0);
  Queue queue(fair_queue);
  queue.add('a');
  only.reset();
  CHECK(queue.becomes("a"));
}

TEST_CASE("the number of waiting requests is limited") {
  FairQueue fair_queue(of(2, 2, 2));
  std::optional<Place> login = take(fair_queue, PriorityClass::login);
  Queue queue(fair_queue);
  queue.add('a', PriorityClass::login);
  queue.add('b', PriorityClass::login);
  const auto third = fair_queue.take(PriorityClass::login, late());
  REQUIRE(!third);
  CHECK(third.error().kind == ErrorKind::unavailable);
  CHECK(third.error().message ==
        "Too many requests wait for the Salt Master: 2, which is the limit; nothing was sent.");
  CHECK(fair_queue.take(PriorityClass::publish, late()));
  login.reset();
  CHECK(queue.becomes("ab"));
}

TEST_CASE("close wakes waiting requests and waits for running requests") {
  FairQueue fair_queue(of(1, 5));
  std::optional<Place> only = take(fair_queue);
  Queue queue(fair_queue);
  queue.add('a');
  queue.add('b', PriorityClass::wheel);
  auto close = std::async(std::launch::async, [&] { fair_queue.close(); });
  CHECK(queue.becomes("!!"));
  const auto after = fair_queue.take(PriorityClass::question, late());
  REQUIRE(!after);
  CHECK(after.error().kind == ErrorKind::unavailable);
  CHECK(close.wait_for(milliseconds(20)) == std::future_status::timeout);
  only.reset();
  CHECK(close.wait_for(std::chrono::seconds(30)) == std::future_status::ready);
}

}  // namespace rest_fcgi::salt

// SPDX-License-Identifier: MIT
#include "master/salt/requests/request_pool.h"

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <zmq.hpp>

#include "../../../support/fake_ret_port.h"
#include "../../../support/limit.h"
#include "master/salt/release_series.h"
#include "requests.h"

namespace rest_fcgi::salt {
namespace {

using rest_fcgi::test::FakeRetPort;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::late;

std::unique_ptr<RequestPool> pool_of(const PoolOptions& options) {
  auto pool = RequestPool::make(options);
  REQUIRE(pool);
  return *std::move(pool);
}

Result<std::string> ask(RequestPool& pool, std::string_view message,
                        PriorityClass priority = PriorityClass::publish) {
  return pool.request(priority, std::string(message), late());
}

std::future<Result<std::string>> send_request(RequestPool& pool, std::string message,
                                              PriorityClass priority = PriorityClass::publish) {
  return std::async(std::launch::async,
                    [&pool, message = std::move(message), priority] { return ask(pool, message, priority); });
}

std::optional<std::string> reply_to(std::string body) {
  return "re: " + body;
}

/// A fake master that answers requests at once, except that requests beginning with `slow` wait for `open`.
class GatedMaster {
 public:
  explicit GatedMaster(std::size_t workers)
      : port_([this](std::string body) { return handle(std::move(body)); }, workers) {}
  ~GatedMaster() { open(); }
  GatedMaster(const GatedMaster&) = delete;
  GatedMaster& operator=(const GatedMaster&) = delete;

  FakeRetPort* operator->() { return &port_; }

  void open(bool answer = true) {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    answer_ = answer;
    changed_.notify_all();
  }

  [[nodiscard]] int inside() const {
    const std::scoped_lock lock(mutex_);
    return inside_;
  }

 private:
  std::optional<std::string> handle(std::string body) {
    if (!body.starts_with("slow")) return reply_to(std::move(body));
    std::unique_lock lock(mutex_);
    ++inside_;
    changed_.wait(lock, [this] { return open_; });
    --inside_;
    return answer_ ? reply_to(std::move(body)) : std::nullopt;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  bool answer_ = true;
  int inside_ = 0;
  FakeRetPort port_;
};

}  // namespace

TEST_CASE("concurrent requests get their own replies") {
  constexpr int kThreads = 32;
  constexpr int kEach = 32;
  FakeRetPort master(reply_to, kThreads);
  const auto pool = pool_of({.uri = master.uri(), .connections = 8});
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const std::string message = std::to_string(t) + "/" + std::to_string(i);
        const auto answer = ask(*pool, message);
        if (answer && *answer == "re: " + message) ++right;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(right == kThreads * kEach);
  CHECK(master.messages() == kThreads * kEach);
  CHECK(master.connections() <= 8);
}

TEST_CASE("idle connections of an earlier master are replaced") {
  FakeRetPort master(reply_to, 4);
  const auto pool = pool_of({.uri = master.uri()});
  for (int round = 0; round < 3; ++round) {
    std::vector<std::future<Result<std::string>>> answers;
    for (int i = 0; i < 8; ++i) answers.push_back(send_request(*pool, "together"));
    for (auto& answer : answers) CHECK(answer.get());
    master.stop();
    master.start();
    CHECK(test::eventually([&] { return ask(*pool, "back").ok(); }));
  }
}

TEST_CASE("running requests end with the master and are not repeated") {
  GatedMaster master(4);
  const auto pool = pool_of({.uri = master->uri()});
  std::vector<std::future<Result<std::string>>> answers;
  for (int i = 0; i < 4; ++i) answers.push_back(send_request(*pool, "slow"));
  CHECK(test::eventually([&] { return master.inside() == 4; }));
  master.open(false);
  master->stop();
  for (auto& answer : answers) {
    REQUIRE(answer.wait_for(seconds(30)) == std::future_status::ready);
    const auto result = answer.get();
    REQUIRE(!result);
    CHECK(result.error().kind == ErrorKind::unavailable);
  }
  CHECK(master->messages() == 4);
}

TEST_CASE("a refused connection fails at once, and a connection without a greeting at the deadline") {
  zmq::context_t context;
  zmq::socket_t still(context, zmq::socket_type::stream);
  still.bind("tcp://127.0.0.1:*");
  const auto pool =
      pool_of({.uri = still.get(zmq::sockopt::last_endpoint), .connect_timeout = milliseconds(50)});
  const SteadyTime deadline = test::in(milliseconds(400));
  bool is_sent = false;
  const auto late_reply = pool->request({PriorityClass::publish, {}, &is_sent}, "x", deadline);
  REQUIRE(!late_reply);
  CHECK(late_reply.error().kind == ErrorKind::timeout);
  CHECK(std::chrono::steady_clock::now() >= deadline);
  FakeRetPort master(reply_to);
  const auto refused_pool = pool_of({.uri = master.uri()});
  CHECK(refused_pool->request({PriorityClass::publish, {}, &is_sent}, "x", late()));
  CHECK(is_sent);
  master.stop();
  // The first request may still be sent on the connection that closes.
  CHECK(test::eventually([&] {
    is_sent = false;
    const auto refused = refused_pool->request({PriorityClass::publish, {}, &is_sent}, "x", late());
    return !refused && refused.error().kind == ErrorKind::unavailable && !is_sent;
  }));
}

TEST_CASE("CVE-2024-38823: a late reply never reaches another request") {
  GatedMaster master(2);
  const auto pool = pool_of({.uri = master->uri()});
  CHECK(*ask(*pool, "quick") == "re: quick");  // This request opens the connection.
  const auto slow = pool->request(PriorityClass::publish, "slow", test::in(seconds(1)));
  REQUIRE(!slow);
  CHECK(slow.error().kind == ErrorKind::timeout);
  CHECK(test::eventually([&] { return master.inside() == 1; }));
  for (int i = 0; i < 3; ++i) CHECK(*ask(*pool, "quick") == "re: quick");
  master.open();
  CHECK(test::eventually([&] { return master.inside() == 0; }));
  for (int i = 0; i < 20; ++i) CHECK(*ask(*pool, "quick") == "re: quick");
  CHECK(master->connections() == 2);
}

TEST_CASE("a dead worker delays only its own requests") {
  std::atomic<int> count = 0;
  FakeRetPort port(
      [&count](std::string body) { return ++count % 3 == 0 ? std::nullopt : std::optional(std::move(body)); },
      4);
  auto pool = pool_of({.uri = port.uri(), .connections = 2, .slow_after = milliseconds(10)});
  std::vector<std::thread> threads;
  std::atomic<int> answered = 0;
  for (int i = 0; i < 15; ++i) {
    threads.emplace_back([&] {
      if (ask(*pool, "x", PriorityClass::runner)) ++answered;
    });
  }
  CHECK(test::eventually([&] { return answered == 10; }));
  pool.reset();
  for (auto& thread : threads) thread.join();
  CHECK(answered == 10);
}

TEST_CASE("before is called when the request is sent") {
  GatedMaster master(2);
  const auto pool = pool_of({.uri = master->uri(), .connections = 1, .slow_after = seconds(60)});
  auto first = send_request(*pool, "slow");
  CHECK(test::eventually([&] { return master.inside() == 1; }));
  std::atomic<bool> made = false;
  const RequestPool::Before before = [&] {
    made = true;
    return Result<void>();
  };
  const auto late = pool->request(PriorityClass::publish, "quick", test::in(milliseconds(50)), before);
  CHECK(late.error().kind == ErrorKind::timeout);
  CHECK_FALSE(made);
  master.open();
  CHECK(first.get());
  CHECK(pool->request(PriorityClass::publish, "quick", test::late(), before));
  CHECK(made);
  const auto refused = pool->request(PriorityClass::publish, "quick", test::late(), [] {
    return Error{ErrorKind::unavailable, "not now"};
  });
  CHECK(refused.error().message == "not now");
  CHECK(master->messages() == 2);
}

TEST_CASE("the number of waiting logins and tokens is limited") {
  for (const PriorityClass priority : {PriorityClass::login, PriorityClass::token}) {
    GatedMaster master(2);
    const auto pool = pool_of({.uri = master->uri(),
                               .connections = 4,
                               .worker_threads = 2,
                               .max_waiting_logins = 0,
                               .slow_after = seconds(60)});
    auto first = send_request(*pool, "slow", priority);
    CHECK(test::eventually([&] { return master.inside() == 1; }));
    const auto second = ask(*pool, "quick", priority);
    REQUIRE(!second);
    CHECK(second.error().kind == ErrorKind::unavailable);
    CHECK(ask(*pool, "quick"));
    master.open();
    CHECK(first.get());
    CHECK(ask(*pool, "quick", priority));
  }
}

TEST_CASE("after a malformed reply a new connection is used") {
  FakeRetPort master([](const FakeRetPort::Frames& frames) -> FakeRetPort::Frames {
    if (frames.at(1) == "garbled") return {"x", "y", "z"};
    return {"", frames.at(1) == "large" ? std::string(2000, 'x') : "answer"};
  });
  const auto pool = pool_of({.uri = master.uri(), .max_answer_size = 1000});
  CHECK(ask(*pool, "garbled").error().kind == ErrorKind::internal);
  CHECK(*ask(*pool, "good") == "answer");
  CHECK(ask(*pool, "large").error().kind == ErrorKind::unavailable);
  CHECK(*ask(*pool, "good") == "answer");
  CHECK(master.connections() == 3);
  CHECK(master.messages() == 4);
}

TEST_CASE("a request without free descriptors is an error, and the next one gets a connection") {
  FakeRetPort master(reply_to);
  const auto pool = pool_of({.uri = master.uri()});
  const auto refused = [&pool] {
    const rest_fcgi::test::Limit few(RLIMIT_NOFILE, 3);
    return ask(*pool, "question");
  }();
  CHECK(refused.error().kind == ErrorKind::unavailable);
  CHECK(ask(*pool, "question"));
  CHECK(master.messages() == 1);
}

}  // namespace rest_fcgi::salt

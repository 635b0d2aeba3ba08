// SPDX-License-Identifier: MIT
#include "master/salt/requests/turns.h"

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
using Turn = Turns::Turn;

PoolOptions of(std::size_t connections, std::size_t worker_threads, std::size_t max_waiting = 100) {
  return {.connections = connections, .worker_threads = worker_threads, .max_waiting = max_waiting};
}

Turn take(Turns& turns, Lane lane) {
  auto turn = turns.take(lane, late());
  REQUIRE(turn);
  return *std::move(turn);
}

bool is_full(Turns& turns, Lane lane) {
  return !turns.take(lane, std::chrono::steady_clock::now());
}

/// Threads that wait for a turn and write down that they had it.
class Queue {
 public:
  explicit Queue(Turns& turns) : turns_(turns) {}
  ~Queue() {
    for (auto& thread : threads_) thread.join();
  }

  /// Returns when the thread waits.
  void add(Lane lane, char name) {
    const std::size_t before = turns_.waiting();
    threads_.emplace_back([this, lane, name] {
      const auto turn = turns_.take(lane, late());
      const std::scoped_lock lock(mutex_);
      order_ += turn ? std::string(1, name) : to_string(turn.error().kind);
    });
    REQUIRE(test::soon([&] { return turns_.waiting() == before + 1; }));
  }

  [[nodiscard]] std::string order() const {
    const std::scoped_lock lock(mutex_);
    return order_;
  }

 private:
  static std::string to_string(ErrorKind kind) { return kind == ErrorKind::unavailable ? "!" : "?"; }

  Turns& turns_;
  mutable std::mutex mutex_;
  std::string order_;
  std::vector<std::thread> threads_;
};

}  // namespace

TEST_CASE("a lane's limit leaves workers and connections to the others, and is never 0") {
  struct Row {
    std::size_t connections, workers, publish, question, runner, wheel, wheel_async, login, token;
  };
  for (const Row& row :
       {Row{16, 5, 16, 4, 4, 3, 2, 3, 3}, Row{16, 4, 16, 4, 3, 2, 1, 2, 2}, Row{16, 1, 16, 4, 1, 1, 1, 1, 1},
        Row{16, 2, 16, 4, 1, 1, 1, 1, 1}, Row{16, 3, 16, 4, 2, 1, 1, 1, 2}, Row{16, 40, 16, 4, 8, 8, 8, 8, 8},
        Row{4, 5, 4, 1, 2, 2, 1, 2, 2}, Row{1, 5, 1, 1, 1, 1, 1, 1, 1}, Row{0, 0, 1, 1, 1, 1, 1, 1, 1}}) {
    CAPTURE(row.connections);
    CAPTURE(row.workers);
    const PoolOptions options = of(row.connections, row.workers);
    CHECK(lane_limit(Lane::publish, options) == row.publish);
    CHECK(lane_limit(Lane::question, options) == row.question);
    CHECK(lane_limit(Lane::runner, options) == row.runner);
    CHECK(lane_limit(Lane::wheel, options) == row.wheel);
    CHECK(lane_limit(Lane::wheel_async, options) == row.wheel_async);
    CHECK(lane_limit(Lane::login, options) == row.login);
    CHECK(lane_limit(Lane::token, options) == row.token);
  }
}

TEST_CASE("logins and wheels together leave one of the master's workers alone") {
  Turns turns(of(16, 5));
  std::vector<Turn> taken;
  for (int i = 0; i < 3; ++i) taken.push_back(take(turns, Lane::wheel));
  CHECK(is_full(turns, Lane::wheel));
  taken.push_back(take(turns, Lane::login));
  CHECK(is_full(turns, Lane::login));
  taken.push_back(take(turns, Lane::publish));
  taken.erase(taken.begin());
  CHECK_FALSE(is_full(turns, Lane::login));
}

TEST_CASE("wheels that nobody waits for, slow as they are, leave places to wheels, runners and logins") {
  Turns turns(of(16, 4));
  Turn slow = take(turns, Lane::wheel_async);
  CHECK(is_full(turns, Lane::wheel_async));
  const Turn wheel = take(turns, Lane::wheel);
  const Turn runner = take(turns, Lane::runner);
  const Turn login = take(turns, Lane::login);
  CHECK(is_full(turns, Lane::login));  // together they hold all workers but one
  turns.stall(slow);
  CHECK_FALSE(is_full(turns, Lane::login));
  CHECK(is_full(turns, Lane::wheel_async));  // the one that runs still holds a worker
  slow.reset();
  CHECK_FALSE(is_full(turns, Lane::wheel_async));
}

TEST_CASE("runners whose workers were lost keep no other runner waiting, once they have stalled") {
  Turns turns(of(16, 2));
  Turn lost = take(turns, Lane::runner);
  CHECK(is_full(turns, Lane::runner));
  turns.stall(lost);
  CHECK_FALSE(is_full(turns, Lane::runner));
}

TEST_CASE("who has stalled lets the next one have a turn, and is waited for at the end all the same") {
  Turns turns(of(1, 5));
  Turn stuck = take(turns, Lane::publish);
  CHECK(is_full(turns, Lane::publish));
  turns.stall(stuck);
  turns.stall(stuck);
  Turn second = take(turns, Lane::publish);
  turns.stall(second);
  Turn third = take(turns, Lane::publish);
  turns.stall(third);
  Turn fourth = take(turns, Lane::publish);
  turns.stall(fourth);  // beyond three times the connections it stays what it is
  CHECK(is_full(turns, Lane::publish));
  stuck.reset();
  turns.stall(fourth);
  CHECK_FALSE(is_full(turns, Lane::publish));
  auto ended = std::async(std::launch::async, [&] { turns.end(); });
  second.reset();
  third.reset();
  CHECK(ended.wait_for(milliseconds(20)) == std::future_status::timeout);
  fourth.reset();
  ended.get();
}

TEST_CASE("a lane that is full does not keep the others from their turns") {
  Turns turns(of(8, 5));
  std::vector<Turn> logins;
  for (int i = 0; i < 3; ++i) logins.push_back(take(turns, Lane::login));
  CHECK(is_full(turns, Lane::login));
  for (int i = 0; i < 5; ++i) logins.push_back(take(turns, Lane::publish));
  CHECK(is_full(turns, Lane::publish));
  logins.erase(logins.begin());
  CHECK(!is_full(turns, Lane::login));
}

TEST_CASE("who waits gets a turn in the order of arrival, whatever the lane") {
  Turns turns(of(1, 5));
  std::optional<Turn> only = take(turns, Lane::publish);
  Queue queue(turns);
  queue.add(Lane::login, 'a');
  queue.add(Lane::publish, 'b');
  queue.add(Lane::login, 'c');
  queue.add(Lane::question, 'd');
  queue.add(Lane::wheel, 'e');
  queue.add(Lane::publish, 'f');
  CHECK(queue.order().empty());
  only.reset();
  CHECK(test::soon([&] { return queue.order() == "abcdef"; }));
}

TEST_CASE("who waits in a lane that is full is overtaken, and has the next turn of the lane") {
  Turns turns(of(3, 2));
  std::optional<Turn> login = take(turns, Lane::login);
  std::optional<Turn> publish = take(turns, Lane::publish);
  const Turn other = take(turns, Lane::publish);
  Queue queue(turns);
  queue.add(Lane::login, 'a');
  queue.add(Lane::login, 'b');
  queue.add(Lane::publish, 'c');
  publish.reset();
  CHECK(test::soon([&] { return queue.order() == "c"; }));
  login.reset();
  CHECK(test::soon([&] { return queue.order() == "cab"; }));
}

TEST_CASE("who waits for a turn goes at the deadline, and leaves its place to the next one") {
  Turns turns(of(1, 5));
  std::optional<Turn> only = take(turns, Lane::publish);
  const auto turn = turns.take(Lane::publish, test::in(milliseconds(20)));
  REQUIRE(!turn);
  CHECK(turn.error().kind == ErrorKind::timeout);
  CHECK(turn.error().message.find("nothing was sent") != std::string::npos);
  CHECK(turns.waiting() == 0);
  Queue queue(turns);
  queue.add(Lane::publish, 'a');
  only.reset();
  CHECK(test::soon([&] { return queue.order() == "a"; }));
}

TEST_CASE("a request is refused when as many wait as may") {
  Turns turns(of(2, 2, 2));
  std::optional<Turn> login = take(turns, Lane::login);
  Queue queue(turns);
  queue.add(Lane::login, 'a');
  queue.add(Lane::login, 'b');
  const auto third = turns.take(Lane::login, late());
  REQUIRE(!third);
  CHECK(third.error().kind == ErrorKind::unavailable);
  CHECK(third.error().message == "Too many requests wait for the Salt Master: 2, which is the limit.");
  // Who need not wait is welcome.
  CHECK(turns.take(Lane::publish, late()));
  login.reset();
  CHECK(test::soon([&] { return queue.order() == "ab"; }));
}

TEST_CASE("the end sends away who waits, gives no more turns, and waits for those that were given") {
  Turns turns(of(1, 5));
  std::optional<Turn> only = take(turns, Lane::publish);
  Queue queue(turns);
  queue.add(Lane::publish, 'a');
  queue.add(Lane::wheel, 'b');
  auto end = std::async(std::launch::async, [&] { turns.end(); });
  CHECK(test::soon([&] { return queue.order() == "!!"; }));
  const auto after = turns.take(Lane::question, late());
  REQUIRE(!after);
  CHECK(after.error().kind == ErrorKind::unavailable);
  CHECK(end.wait_for(milliseconds(20)) == std::future_status::timeout);
  only.reset();
  CHECK(end.wait_for(std::chrono::seconds(30)) == std::future_status::ready);
}

}  // namespace rest_fcgi::salt

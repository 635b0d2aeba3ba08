// SPDX-License-Identifier: MIT
#include "master/salt/requests/priority_class.h"

#include <chrono>
#include <future>
#include <vector>

#include <doctest/doctest.h>

namespace rest_fcgi::salt {
namespace {

using std::chrono::milliseconds;
using Pass = Limiter::Pass;

PoolOptions of(std::size_t connections, std::size_t worker_threads) {
  return {.connections = connections, .worker_threads = worker_threads};
}

Result<Pass> try_enter(Limiter& limiter, PriorityClass priority) {
  return limiter.enter(static_cast<std::size_t>(priority), {}, SteadyTime());
}

Pass enter(Limiter& limiter, PriorityClass priority = PriorityClass::publish) {
  auto pass = try_enter(limiter, priority);
  REQUIRE(pass);
  return *std::move(pass);
}

bool is_full(Limiter& limiter, PriorityClass priority = PriorityClass::publish) {
  return !try_enter(limiter, priority);
}

}  // namespace

TEST_CASE("the limit of a class leaves workers and connections for others") {
  // The classes have the order publish, question, runner, wheel, wheel_async, login, token.
  struct Row {
    std::size_t connections, workers, limits[7];
  };
  for (const Row& row : {Row{16, 5, {16, 4, 4, 3, 2, 3, 3}}, Row{16, 4, {16, 4, 3, 2, 1, 2, 2}},
                         Row{16, 1, {16, 4, 1, 1, 1, 1, 1}}, Row{16, 2, {16, 4, 1, 1, 1, 1, 1}},
                         Row{16, 3, {16, 4, 2, 1, 1, 1, 2}}, Row{16, 40, {16, 4, 8, 8, 8, 8, 8}},
                         Row{4, 5, {4, 1, 2, 2, 1, 2, 2}}, Row{1, 5, {1, 1, 1, 1, 1, 1, 1}},
                         Row{0, 0, {1, 1, 1, 1, 1, 1, 1}}}) {
    const auto classes = limits_of(of(row.connections, row.workers)).classes;
    REQUIRE(classes.size() == std::size(row.limits));
    for (std::size_t i = 0; i < classes.size(); ++i) {
      CHECK_MESSAGE(classes[i].at_once == row.limits[i], i);
    }
  }
}

TEST_CASE("logins and wheels together leave one worker free") {
  Limiter limiter(limits_of(of(16, 5)));
  std::vector<Pass> taken;
  for (int i = 0; i < 3; ++i) taken.push_back(enter(limiter, PriorityClass::wheel));
  CHECK(is_full(limiter, PriorityClass::wheel));
  taken.push_back(enter(limiter, PriorityClass::login));
  CHECK(is_full(limiter, PriorityClass::login));
  taken.push_back(enter(limiter));
  taken.erase(taken.begin());
  CHECK_FALSE(is_full(limiter, PriorityClass::login));
}

TEST_CASE("asynchronous wheels leave places for other classes") {
  Limiter limiter(limits_of(of(16, 4)));
  Pass slow = enter(limiter, PriorityClass::wheel_async);
  CHECK(is_full(limiter, PriorityClass::wheel_async));
  const Pass wheel = enter(limiter, PriorityClass::wheel);
  const Pass runner = enter(limiter, PriorityClass::runner);
  const Pass login = enter(limiter, PriorityClass::login);
  // The requests above occupy all workers of the master but one.
  CHECK(is_full(limiter, PriorityClass::login));
  limiter.stall(slow);
  CHECK_FALSE(is_full(limiter, PriorityClass::login));
  // The stalled wheel can still occupy a worker, so it counts as an asynchronous wheel.
  CHECK(is_full(limiter, PriorityClass::wheel_async));
  slow.reset();
  CHECK_FALSE(is_full(limiter, PriorityClass::wheel_async));
}

TEST_CASE("a stalled request frees its place") {
  Limiter limiter(limits_of(of(1, 5)));
  Pass stuck = enter(limiter);
  CHECK(is_full(limiter));
  limiter.stall(stuck);
  limiter.stall(stuck);
  Pass second = enter(limiter);
  limiter.stall(second);
  Pass third = enter(limiter);
  limiter.stall(third);
  Pass fourth = enter(limiter);
  // Three stalled requests are the limit for one connection, so this call has no effect.
  limiter.stall(fourth);
  CHECK(is_full(limiter));
  stuck.reset();
  limiter.stall(fourth);
  CHECK_FALSE(is_full(limiter));
  auto ended = std::async(std::launch::async, [&] { limiter.close(); });
  second.reset();
  third.reset();
  CHECK(ended.wait_for(milliseconds(20)) == std::future_status::timeout);
  fourth.reset();
  ended.get();
}

}  // namespace rest_fcgi::salt

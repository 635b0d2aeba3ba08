// SPDX-License-Identifier: MIT
#include "master/salt/requests/turns.h"

#include <algorithm>
#include <utility>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::salt {
namespace {

std::size_t at_least_one(std::size_t number) {
  return std::max<std::size_t>(1, number);
}

Error too_many(std::size_t limit) {
  return {ErrorKind::unavailable,
          format("Too many requests wait for the Salt Master: {}, which is the limit.", limit)};
}

}  // namespace

std::size_t slow_limit(const PoolOptions& options) {
  const std::size_t all_but_one_worker =
      options.worker_threads - std::min<std::size_t>(1, options.worker_threads);
  return at_least_one(std::min(all_but_one_worker, options.connections - options.connections / 4));
}

std::size_t lane_limit(Lane lane, const PoolOptions& options) {
  const std::size_t half_of_the_connections = options.connections / 2;
  const std::size_t half_of_the_workers = (options.worker_threads + 1) / 2;
  const std::size_t slow = slow_limit(options);
  // Each kind of slow work leaves a place to the others.
  const std::size_t most_of_the_slow = at_least_one(slow - 1);
  switch (lane) {
    case Lane::publish:
      break;
    case Lane::question:
      return at_least_one(options.connections / 4);
    case Lane::runner:
      return at_least_one(std::min(half_of_the_connections, slow));
    case Lane::wheel:
      return at_least_one(std::min(half_of_the_connections, most_of_the_slow));
    case Lane::wheel_async:
      return at_least_one(std::min(half_of_the_connections, most_of_the_slow - 1));
    case Lane::login:
      return at_least_one(std::min({half_of_the_connections, most_of_the_slow, half_of_the_workers}));
    case Lane::token:
      return at_least_one(std::min(half_of_the_connections, half_of_the_workers));
  }
  return at_least_one(options.connections);
}

Turns::Turns(const PoolOptions& options)
    : connections_(at_least_one(options.connections)),
      max_waiting_(options.max_waiting),
      slow_limit_(slow_limit(options)) {
  for (std::size_t i = 0; i < kLanes; ++i) {
    const auto lane = static_cast<Lane>(i);
    const bool is_wheel = lane == Lane::wheel || lane == Lane::wheel_async;
    state(lane).limit = lane_limit(lane, options);
    state(lane).is_slow = is_wheel || lane == Lane::login;
    state(lane).keeps_place = is_wheel;
  }
}

Result<Turns::Turn> Turns::take(Lane lane, SteadyTime deadline) {
  std::unique_lock lock(mutex_);
  if (ended_) return Error{ErrorKind::unavailable, "No more requests to the Salt Master are taken."};
  // Where a request waits in this lane there is no room in it.
  if (has_room(state(lane))) {
    begin(state(lane));
    return Turn(this, {.lane = lane});
  }
  if (waiting_ >= max_waiting_) return too_many(waiting_);
  Waiter waiter{.number = next_number_++};
  return wait(lane, waiter, deadline, lock);
}

Result<Turns::Turn> Turns::wait(Lane lane, Waiter& waiter, SteadyTime deadline,
                                std::unique_lock<std::mutex>& lock) {
  auto& waiters = state(lane).waiters;
  const auto place = waiters.insert(waiters.end(), &waiter);
  ++waiting_;
  waiter.woken.wait_until(lock, deadline, [&] { return waiter.has_turn || ended_; });
  --waiting_;
  if (waiter.has_turn) return Turn(this, {.lane = lane});
  waiters.erase(place);
  left_.notify_all();
  if (ended_) return Error{ErrorKind::unavailable, "No more requests to the Salt Master are taken."};
  return Error{ErrorKind::timeout,
               "The time was up before a connection to the Salt Master was free; nothing was sent."};
}

std::size_t Turns::waiting() const {
  const std::scoped_lock lock(mutex_);
  return waiting_;
}

void Turns::begin(LaneState& lane) {
  ++lane.under_way;
  ++under_way_;
  if (lane.is_slow) ++slow_under_way_;
}

/// What it held of the places that all lanes share is free.
void Turns::leave_shared(const LaneState& lane) {
  --under_way_;
  if (lane.is_slow) --slow_under_way_;
}

Turns::LaneState* Turns::next_lane() {
  LaneState* next = nullptr;
  for (LaneState& lane : lanes_) {
    if (lane.waiters.empty() || !has_room(lane)) continue;
    if (next == nullptr || lane.waiters.front()->number < next->waiters.front()->number) next = &lane;
  }
  return next;
}

void Turns::stall(Turn& turn) {
  const std::scoped_lock lock(mutex_);
  if (turn.get_deleter().stalled || stalled_ >= kStalled * connections_) return;
  LaneState& lane = state(turn.get_deleter().lane);
  leave_shared(lane);
  if (!lane.keeps_place) --lane.under_way;
  ++stalled_;
  turn.get_deleter().stalled = true;
  wake_next();
}

void Turns::give_back(const GiveBack& turn) {
  const std::scoped_lock lock(mutex_);
  LaneState& lane = state(turn.lane);
  if (turn.stalled) {
    --stalled_;
  } else {
    leave_shared(lane);
  }
  if (!turn.stalled || lane.keeps_place) --lane.under_way;
  left_.notify_all();
  wake_next();
}

void Turns::wake_next() {
  if (ended_) return;
  while (LaneState* next = next_lane()) {
    Waiter& waiter = *next->waiters.front();
    next->waiters.pop_front();
    begin(*next);
    waiter.has_turn = true;
    waiter.woken.notify_one();
  }
}

void Turns::end() {
  std::unique_lock lock(mutex_);
  ended_ = true;
  for (LaneState& lane : lanes_) {
    for (Waiter* waiter : lane.waiters) waiter->woken.notify_one();
  }
  left_.wait(lock, [&] { return under_way_ == 0 && stalled_ == 0 && waiting_ == 0; });
}

}  // namespace rest_fcgi::salt

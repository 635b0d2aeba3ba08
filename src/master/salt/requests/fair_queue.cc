// SPDX-License-Identifier: MIT
#include "master/salt/requests/fair_queue.h"

#include <algorithm>
#include <utility>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::salt {
namespace {

std::size_t at_least_one(std::size_t number) {
  return std::max<std::size_t>(1, number);
}

Error too_many(std::size_t limit) {
  return {
      ErrorKind::unavailable,
      format("Too many requests wait for the Salt Master: {}, which is the limit; nothing was sent.", limit)};
}

}  // namespace

std::size_t slow_limit(const PoolOptions& options) {
  const std::size_t all_but_one_worker =
      options.worker_threads - std::min<std::size_t>(1, options.worker_threads);
  return at_least_one(std::min(all_but_one_worker, options.connections - options.connections / 4));
}

std::size_t class_limit(PriorityClass priority, const PoolOptions& options) {
  const std::size_t half_of_the_connections = options.connections / 2;
  const std::size_t half_of_the_workers = (options.worker_threads + 1) / 2;
  const std::size_t slow = slow_limit(options);
  // The limit for wheels and for logins is one less than `slow_limit`, so another slow class can still run.
  // The limit for asynchronous wheels is two less.
  const std::size_t most_of_the_slow = at_least_one(slow - 1);
  switch (priority) {
    case PriorityClass::publish:
      break;
    case PriorityClass::question:
      return at_least_one(options.connections / 4);
    case PriorityClass::runner:
      return at_least_one(std::min(half_of_the_connections, slow));
    case PriorityClass::wheel:
      return at_least_one(std::min(half_of_the_connections, most_of_the_slow));
    case PriorityClass::wheel_async:
      return at_least_one(std::min(half_of_the_connections, most_of_the_slow - 1));
    case PriorityClass::login:
      return at_least_one(std::min({half_of_the_connections, most_of_the_slow, half_of_the_workers}));
    case PriorityClass::token:
      return at_least_one(std::min(half_of_the_connections, half_of_the_workers));
  }
  return at_least_one(options.connections);
}

FairQueue::FairQueue(const PoolOptions& options)
    : connections_(at_least_one(options.connections)),
      max_waiting_(options.max_waiting),
      slow_limit_(slow_limit(options)) {
  for (std::size_t i = 0; i < kPriorityClasses; ++i) {
    const auto priority = static_cast<PriorityClass>(i);
    const bool is_wheel = priority == PriorityClass::wheel || priority == PriorityClass::wheel_async;
    state(priority).limit = class_limit(priority, options);
    state(priority).is_slow = is_wheel || priority == PriorityClass::login;
    state(priority).keeps_place = is_wheel;
  }
}

Result<FairQueue::Place> FairQueue::take(PriorityClass priority, SteadyTime deadline) {
  std::unique_lock lock(mutex_);
  if (ended_)
    return Error{ErrorKind::unavailable,
                 "The server is shutting down and sends no more requests to the Salt Master."};
  // If a class has a free place, no other request of this class waits, so the new request begins immediately.
  if (has_free_place(state(priority))) {
    begin(state(priority));
    return Place(this, {.priority = priority});
  }
  if (waiting_ >= max_waiting_) return too_many(waiting_);
  Waiter waiter{.number = next_number_++};
  return wait(priority, waiter, deadline, lock);
}

Result<FairQueue::Place> FairQueue::wait(PriorityClass priority, Waiter& waiter, SteadyTime deadline,
                                         std::unique_lock<std::mutex>& lock) {
  auto& waiters = state(priority).waiters;
  const auto place = waiters.insert(waiters.end(), &waiter);
  ++waiting_;
  waiter.woken.wait_until(lock, deadline, [&] { return waiter.has_place || ended_; });
  --waiting_;
  if (waiter.has_place) return Place(this, {.priority = priority});
  waiters.erase(place);
  left_.notify_all();
  if (ended_)
    return Error{ErrorKind::unavailable,
                 "The server is shutting down and sends no more requests to the Salt Master."};
  return Error{ErrorKind::timeout,
               "No connection to the Salt Master was free before the time limit; nothing was sent."};
}

std::size_t FairQueue::waiting() const {
  const std::scoped_lock lock(mutex_);
  return waiting_;
}

std::size_t FairQueue::running() const {
  const std::scoped_lock lock(mutex_);
  return under_way_ + stalled_;
}

void FairQueue::begin(ClassState& priority) {
  ++priority.under_way;
  ++under_way_;
  if (priority.is_slow) ++slow_under_way_;
}

void FairQueue::free_shared_place(const ClassState& priority) {
  --under_way_;
  if (priority.is_slow) --slow_under_way_;
}

FairQueue::ClassState* FairQueue::next_class() {
  ClassState* next = nullptr;
  for (ClassState& priority : classes_) {
    if (priority.waiters.empty() || !has_free_place(priority)) continue;
    if (next == nullptr || priority.waiters.front()->number < next->waiters.front()->number) next = &priority;
  }
  return next;
}

void FairQueue::stall(Place& place) {
  const std::scoped_lock lock(mutex_);
  if (place.get_deleter().stalled || stalled_ >= kMaxStalled * connections_) return;
  ClassState& priority = state(place.get_deleter().priority);
  free_shared_place(priority);
  if (!priority.keeps_place) --priority.under_way;
  ++stalled_;
  place.get_deleter().stalled = true;
  wake_next();
}

void FairQueue::release(const ReturnPlace& place) {
  const std::scoped_lock lock(mutex_);
  ClassState& priority = state(place.priority);
  if (place.stalled) {
    --stalled_;
  } else {
    free_shared_place(priority);
  }
  if (!place.stalled || priority.keeps_place) --priority.under_way;
  left_.notify_all();
  wake_next();
}

void FairQueue::wake_next() {
  if (ended_) return;
  while (ClassState* next = next_class()) {
    Waiter& waiter = *next->waiters.front();
    next->waiters.pop_front();
    begin(*next);
    waiter.has_place = true;
    waiter.woken.notify_one();
  }
}

void FairQueue::close() {
  std::unique_lock lock(mutex_);
  ended_ = true;
  for (ClassState& priority : classes_) {
    for (Waiter* waiter : priority.waiters) waiter->woken.notify_one();
  }
  left_.wait(lock, [&] { return under_way_ == 0 && stalled_ == 0 && waiting_ == 0; });
}

}  // namespace rest_fcgi::salt

// SPDX-License-Identifier: MIT
#include "rest_fcgi/master/workers.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <string>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/limiter.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/memory.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/thread.h"

// Invariants of Workers::State whenever `mutex` is free:
// - `busy` is at most `threads`, and `threads` at most `limits.threads`.
// - `busy + waiting()` is at most `limits.threads + limits.queued`. A place goes from `reserved` to `queue`
//   and to `busy`, so `submit` never fails.
// - If `waiting()` is not 0, there is at least one thread.

namespace rest_fcgi::master {

namespace {

constexpr std::chrono::seconds kIdle{10};  // A thread ends after it was idle for `kIdle`.
constexpr std::chrono::seconds kGrace{1};  // The destructor waits for threads for at most `kGrace`.

Error unavailable(std::string message) {
  return {ErrorKind::unavailable, std::move(message)};
}

void run_task(const Workers::Task& task, const std::stop_token& stop) {
  try {
    task(stop);
  } catch (const std::exception& exception) {
    log::error(format("a background task failed: {}", exception.what()));
  }
}

}  // namespace

struct Workers::State {
  Mutex mutex;
  // `work` is notified when a task is submitted, when reserved places are given back, and when the pool
  // closes.
  std::condition_variable work;
  std::condition_variable ended;  // `ended` is notified when a task or a thread ends.
  Limits limits;
  FairQueue<Task> queue GUARDED_BY(mutex);  // The waiting tasks by user.
  // `reserved` is the number of reserved places whose task is not yet submitted.
  std::size_t reserved GUARDED_BY(mutex) = 0;
  std::size_t threads GUARDED_BY(mutex) = 0;
  std::size_t busy GUARDED_BY(mutex) = 0;
  bool closed GUARDED_BY(mutex) = false;
  std::stop_source stop;

  [[nodiscard]] std::size_t waiting() const REQUIRES(mutex) { return queue.size() + reserved; }
};

Workers::Workers(Limits limits) : state_(std::make_shared<State>()) {
  state_->limits = {std::max<std::size_t>(limits.threads, 1), limits.queued};
}

Workers::~Workers() {
  stop();
  MutexLock lock(state_->mutex);
  state_->closed = true;
  state_->work.notify_all();
  state_->ended.wait_for(lock, kGrace, [this]() REQUIRES(state_->mutex) { return state_->threads == 0; });
}

Result<Workers::Reservation> Workers::reserve(std::string_view user, std::size_t count) {
  State& state = *state_;
  const MutexLock lock(state.mutex);
  if (state.closed) return unavailable("The server is shutting down.");
  const std::size_t room = state.limits.threads + state.limits.queued;
  const std::size_t taken = state.busy + state.waiting();
  if (taken > room || count > room - taken) {
    return unavailable(
        format("The server is overloaded: {} function calls run or wait, and {} more would exceed the limit "
               "of {}. Try again later.",
               taken, count, room));
  }
  state.reserved += count;
  while (state.threads < state.limits.threads && state.threads - state.busy < state.waiting()) {
    if (start_thread(state_)) {
      ++state.threads;
      continue;
    }
    if (state.threads != 0) break;
    state.reserved -= count;
    return unavailable("The server cannot start a thread.");
  }
  return Reservation(state_, user, count);
}

bool Workers::close(SteadyTime deadline) {
  MutexLock lock(state_->mutex);
  state_->closed = true;
  state_->work.notify_all();
  return state_->ended.wait_until(lock, deadline, [this]() REQUIRES(state_->mutex) {
    return state_->busy == 0 && state_->waiting() == 0;
  });
}

void Workers::stop() {
  FairQueue<Task> dropped;  // The waiting tasks. Their destructors run after the lock is released.
  {
    const MutexLock lock(state_->mutex);
    std::swap(dropped, state_->queue);
  }
  state_->stop.request_stop();
}

bool Workers::start_thread(const std::shared_ptr<State>& state) {
  auto thread = Thread::start(
      "worker", [state] { run(state); }, kSmallStack);
  if (!thread) return false;
  thread->detach();
  return true;
}

void Workers::run(const std::shared_ptr<State>& state) {
  MutexLock lock(state->mutex);
  const auto has_work = [&state]() REQUIRES(state->mutex) {
    return !state->queue.empty() || (state->closed && state->reserved == 0);
  };
  bool worked = false;
  for (;;) {
    bool woken = state->work.wait_for(lock, kQuiet, has_work);
    if (!woken && std::exchange(worked, false)) {
      lock.unlock();
      trim_memory();
      lock.lock();
    }
    if (!woken) woken = state->work.wait_for(lock, kIdle - kQuiet, has_work);
    if (state->queue.empty()) {
      // A thread does not end while a place is reserved, because a task for this place will come.
      if (woken || state->reserved == 0) break;
      continue;
    }
    Task task = state->queue.pop(state->queue.begin());
    worked = true;
    ++state->busy;
    lock.unlock();
    run_task(task, state->stop.get_token());
    // The task is destroyed before `ended` is notified, so that a thread that waits for `ended` can rely on
    // the destruction of the task's objects.
    task = nullptr;
    lock.lock();
    --state->busy;
    state->ended.notify_all();
  }
  --state->threads;
  state->ended.notify_all();
}

Workers::Reservation::Reservation(Reservation&& other) noexcept
    : state_(std::move(other.state_)), user_(std::move(other.user_)), left_(std::exchange(other.left_, 0)) {}

Workers::Reservation::~Reservation() {
  if (left_ == 0) return;
  const MutexLock lock(state_->mutex);
  state_->reserved -= left_;
  state_->ended.notify_all();
  state_->work.notify_all();  // Wakes idle worker threads, which end if the pool is closed.
}

void Workers::Reservation::submit(Task task) {
  State& state = *state_;
  {
    const MutexLock lock(state.mutex);
    state.queue.push(user_, std::move(task));
    --state.reserved;
  }
  --left_;
  state.work.notify_one();
}

}  // namespace rest_fcgi::master

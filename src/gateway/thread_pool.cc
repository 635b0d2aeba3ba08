// SPDX-License-Identifier: MIT
#include "gateway/thread_pool.h"

#include <algorithm>
#include <thread>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>

#include "gateway/sys.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/thread.h"

// Invariants of ThreadPool whenever `mutex_` is free:
// - `serving_` exceeds `most_serving_` only by threads that have ended a wait and finish their handler.
// - If `serving_` is less than `most_serving_`, a thread is about to serve the loop, or none can be started.
// - Until `stop`, `running_` is `threads_ + surplus_`.
// - `calls_ + monitoring_calls_` is the number of Call objects, and of resumed callers that will make one.
//   `calls_` is at most `max_calls`, and `monitoring_calls_` at most `kMonitoringCalls`.
// - If a caller waits in `waiting_`, `calls_` is not 0, so that an `end_call` will resume the caller.

namespace rest_fcgi::gateway {
namespace {

/// The number of calls for monitoring that may run beside the `max_calls` other calls.
constexpr std::size_t kMonitoringCalls = 8;

/// The longest wait of `stop` for threads outside of calls.
constexpr std::chrono::seconds kEnd{5};

ThreadLimits sane(ThreadLimits limits) {
  limits.max_calls = std::max<std::size_t>(limits.max_calls, 1);
  limits.min_threads = std::clamp<std::size_t>(limits.min_threads, 1, limits.max_calls);
  return limits;
}

/// The web server, the clients and the database use the other half of the processors.
std::size_t serving_threads(const ThreadLimits& limits) {
  return std::clamp<std::size_t>(std::thread::hardware_concurrency() / 2, 1, limits.min_threads);
}

}  // namespace

ThreadPool::ThreadPool(const ThreadLimits& limits)
    : limits_(sane(limits)),
      usual_serving_(serving_threads(limits_)),
      most_serving_(usual_serving_),
      next_look_(system_clock().steady()) {}

Result<void> ThreadPool::start(std::weak_ptr<void> owner) {
  owner_ = std::move(owner);
  const MutexLock lock(mutex_);
  while (threads_ < limits_.min_threads && !is_start_failing_) add_thread_locked();
  const std::size_t needed = std::min<std::size_t>(limits_.min_threads, 2);
  if (threads_ >= needed) return {};
  return Error{
      ErrorKind::internal,
      format("threads: could start {}, expected at least {}: raise the limit of processes and threads of "
             "this user (ulimit -u, LimitNPROC=, TasksMax=, or the pids limit of the container)",
             threads_, needed)};
}

void ThreadPool::add_thread_locked() {
  auto thread = Thread::start(
      format("worker-{}", ++started_), [this, owner = owner_.lock()] { run(); }, kSmallStack);
  if (thread) {
    thread->detach();
    ++threads_;
    ++running_;
    ++called_;
    is_start_failing_ = false;
  } else if (!std::exchange(is_start_failing_, true)) {
    log::error(format("cannot start another worker thread; {} threads stay in use: {}", threads_,
                      thread.error().message));
  }
}

/// Wakes or starts a thread if the loop has too few threads.
void ThreadPool::ensure_service_locked() {
  if (serving_ + called_ >= most_serving_) return;
  if (idle_ <= called_) return add_thread_locked();
  ++called_;
  wakeup_.notify_one();
}

void ThreadPool::run() noexcept {
  observe_waits(*this);
  MutexLock lock(mutex_);
  if (called_ != 0) --called_;
  while (!is_stopping_) {
    if (serving_ < most_serving_) {
      ++serving_;
      lock.unlock();
      serve();
      lock.lock();
      --serving_;
    } else if (surplus_ != 0) {
      --surplus_;
      break;
    } else {
      ++idle_;
      wakeup_.wait(lock);
      --idle_;
      if (called_ != 0) --called_;
    }
  }
  --running_;
  thread_ended_.notify_all();
}

/// Serves the loop until the pool ends or too many threads serve the loop.
void ThreadPool::serve() noexcept {
  while (serving_ <= most_serving_) {
    try {
      if (context_.run_one() == 0) return;  // The context has stopped, because the pool ends.
    } catch (...) {
      log_exception("a connection was dropped after an exception");
    }
    steps_.fetch_add(1, std::memory_order_relaxed);
  }
  // Wakes a thread that continues the operations that this thread has left.
  log::safely([this] { asio::post(context_, [] {}); });
}

void ThreadPool::begin_wait() noexcept {
  const MutexLock lock(mutex_);
  --serving_;
  most_waits_ = std::max(most_waits_, ++waits_);
  ensure_service_locked();
}

void ThreadPool::end_wait() noexcept {
  const MutexLock lock(mutex_);
  --waits_;
  ++serving_;
}

/// Returns false if `max_calls` calls run, or if no thread can be started and the call would use the last
/// one.
bool ThreadPool::begin_call_locked() {
  if (calls_ >= limits_.max_calls) return false;
  if (is_start_failing_ && calls_ != 0 && calls_ + 1 >= threads_) return false;
  ++calls_;
  if (calls_ == limits_.max_calls && !std::exchange(is_exhaustion_logged_, true)) {
    log::safely([this] {
      log::warning(format("all {} threads are busy; further requests wait for one of them (max_threads)",
                          limits_.max_calls));
    });
  }
  return true;
}

std::optional<ThreadPool::Call> ThreadPool::try_begin_call() {
  const MutexLock lock(mutex_);
  if (!waiting_.empty() || !begin_call_locked()) return std::nullopt;
  return Call(*this);
}

std::optional<ThreadPool::Call> ThreadPool::try_begin_monitoring_call() {
  const MutexLock lock(mutex_);
  if (monitoring_calls_ >= kMonitoringCalls) return std::nullopt;
  ++monitoring_calls_;
  return Call(*this, true);
}

Task<std::optional<ThreadPool::Call>> ThreadPool::begin_call() {
  if (auto call = try_begin_call()) co_return call;
  {
    const MutexLock lock(mutex_);
    if (waiting_.size() >= limits_.max_waiting) co_return std::nullopt;
  }
  co_await wait_for_call();
  co_return Call(*this);
}

Task<> ThreadPool::wait_for_call() {
  return asio::async_initiate<const asio::use_awaitable_t<Executor>, void()>(
      [this](auto handler) {
        const auto shared = std::make_shared<decltype(handler)>(std::move(handler));
        const auto resume = [shared] {
          asio::post(asio::get_associated_executor(*shared), [shared] { (*shared)(); });
        };
        const MutexLock lock(mutex_);
        if (waiting_.empty() && begin_call_locked()) return resume();
        waiting_.push_back(resume);
      },
      use_task);
}

/// Ends a call, and begins the call of the caller that has waited longest.
void ThreadPool::end_call(bool is_monitoring) noexcept {
  const MutexLock lock(mutex_);
  if (is_monitoring || waiting_.empty()) {
    --(is_monitoring ? monitoring_calls_ : calls_);
    return;
  }
  const auto resume = std::move(waiting_.front());
  waiting_.pop_front();
  resume();
}

void ThreadPool::maintain(SteadyTime now) {
  const MutexLock lock(mutex_);
  const bool has_progress = std::exchange(seen_steps_, steps_) != steps_;
  const std::size_t calls = calls_ + monitoring_calls_;
  if (!has_progress && calls >= waits_ + most_serving_) {
    ++most_serving_;
  } else if (calls < waits_ + usual_serving_) {
    most_serving_ = usual_serving_;
    // A thread that has nothing to do leaves the loop after its next handler.
    for (std::size_t i = most_serving_; i < serving_; ++i) asio::post(context_, [] {});
  }
  if (is_start_failing_) add_thread_locked();  // it may succeed now
  ensure_service_locked();
  if (now < next_look_) return;
  next_look_ = now + limits_.idle_timeout;
  if (calls_ < limits_.max_calls) is_exhaustion_logged_ = false;
  const std::size_t needed = std::max(std::exchange(most_waits_, waits_), waits_) + limits_.min_threads;
  for (; threads_ > needed; --threads_) ++surplus_;
  if (surplus_ != 0) wakeup_.notify_all();
}

std::size_t ThreadPool::stop(SteadyTime deadline) {
  MutexLock lock(mutex_);
  is_stopping_ = true;
  context_.stop();
  wakeup_.notify_all();
  const auto ended = [this]() REQUIRES(mutex_) { return running_ == 0; };
  if (thread_ended_.wait_until(lock, deadline, ended)) return 0;
  if (calls_ + monitoring_calls_ == 0) thread_ended_.wait_for(lock, kEnd, ended);
  return calls_ + monitoring_calls_;
}

}  // namespace rest_fcgi::gateway

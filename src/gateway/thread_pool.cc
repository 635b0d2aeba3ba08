// SPDX-License-Identifier: MIT
#include "gateway/thread_pool.h"

#include <algorithm>

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>

#include "gateway/sys.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/thread.h"

namespace rest_fcgi::gateway {
namespace {

/// How long `stop` waits for threads that are in no call.
constexpr std::chrono::seconds kEnd{5};

ThreadLimits sane(ThreadLimits limits) {
  limits.max_calls = std::max<std::size_t>(limits.max_calls, 1);
  limits.min_threads = std::clamp<std::size_t>(limits.min_threads, 1, limits.max_calls);
  return limits;
}

}  // namespace

ThreadPool::ThreadPool(const ThreadLimits& limits)
    : limits_(sane(limits)), work_(asio::make_work_guard(context_)), next_look_(system_clock().steady()) {}

Result<void> ThreadPool::start(std::weak_ptr<void> owner) {
  owner_ = std::move(owner);
  const std::lock_guard lock(mutex_);
  while (threads_ < limits_.min_threads && !is_start_failing_) add_thread_locked();
  if (threads_ == 0) return Error{ErrorKind::internal, "not a single worker thread can be started", {}};
  return {};
}

void ThreadPool::add_thread_locked() {
  auto thread = Thread::start(
      format("worker-{}", ++started_), [this, owner = owner_.lock()] { run(); }, kSmallStack);
  if (thread) {
    thread->detach();
    ++threads_;
    ++running_;
    is_start_failing_ = false;
  } else if (!std::exchange(is_start_failing_, true)) {
    log::error(
        format("cannot start another worker thread, going on with {}: {}", threads_, thread.error().message));
  }
}

void ThreadPool::run() noexcept {
  for (bool ends = false; !ends;) {
    try {
      context_.run();
      ends = true;
    } catch (const EndOfThread&) {
      ends = true;
    } catch (...) {
      log_exception("a connection was dropped");
    }
  }
  const std::lock_guard lock(mutex_);
  --running_;
  thread_ended_.notify_all();
}

/// Begins a call if there may be one more. One thread stays outside of all calls where threads can be had.
bool ThreadPool::begin_locked() {
  if (calls_ >= limits_.max_calls) return false;
  if (calls_ + 1 >= threads_) add_thread_locked();
  if (calls_ != 0 && calls_ + 1 >= threads_) return false;  // no thread could be started
  ++calls_;
  most_calls_ = std::max(most_calls_, calls_);
  if (calls_ == limits_.max_calls && !std::exchange(is_exhaustion_logged_, true)) {
    log::safely([this] {
      log::warning(format("all {} threads are busy; further requests wait for one of them (max_threads)",
                          limits_.max_calls));
    });
  }
  return true;
}

std::optional<ThreadPool::Call> ThreadPool::try_begin_call() {
  const std::lock_guard lock(mutex_);
  if (!waiting_.empty() || !begin_locked()) return std::nullopt;
  return Call(*this);
}

Task<std::optional<ThreadPool::Call>> ThreadPool::begin_call() {
  if (auto call = try_begin_call()) co_return call;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= limits_.max_waiting) co_return std::nullopt;
  }
  co_await wait_for_call();
  co_return Call(*this);
}

/// Waits until the caller has a call.
Task<> ThreadPool::wait_for_call() {
  return asio::async_initiate<const asio::use_awaitable_t<Executor>, void()>(
      [this](auto handler) {
        const auto shared = std::make_shared<decltype(handler)>(std::move(handler));
        const auto resume = [this, shared] { asio::post(context_, [shared] { (*shared)(); }); };
        const std::lock_guard lock(mutex_);
        if (waiting_.empty() && begin_locked()) return resume();
        waiting_.push_back(resume);
      },
      use_task);
}

/// The first that waits takes over the call that ends.
void ThreadPool::end_call() noexcept {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) {
    --calls_;
    return;
  }
  const auto resume = std::move(waiting_.front());
  waiting_.pop_front();
  resume();
}

void ThreadPool::shrink(SteadyTime now) {
  const std::lock_guard lock(mutex_);
  if (now < next_look_) return;
  next_look_ = now + limits_.idle_timeout;
  if (calls_ < limits_.max_calls) is_exhaustion_logged_ = false;
  const std::size_t needed = std::max(std::exchange(most_calls_, calls_), calls_) + limits_.min_threads;
  for (; threads_ > needed; --threads_) asio::post(context_, [] { throw EndOfThread(); });
}

std::size_t ThreadPool::stop(SteadyTime deadline) {
  context_.stop();
  std::unique_lock lock(mutex_);
  const auto ended = [this] { return running_ == 0; };
  if (thread_ended_.wait_until(lock, deadline, ended)) return 0;
  if (calls_ == 0) thread_ended_.wait_for(lock, kEnd, ended);
  return calls_;
}

}  // namespace rest_fcgi::gateway

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
// - While `has_thread` of a loop is true, the loop belongs to the thread whose `ownership` is its `owner`. A
//   thread that lost its loop during a call leaves or retakes the loop in `end_blocking`.
// - Until `stop`, `running_` is `threads_ + surplus_`.
// - `blocking_` is the number of Blocking objects.
// - `calls_` is the number of Call objects, and of resumed callers that will make one. It is at most
//   `max_calls + kMonitoringCalls`.
// - If a caller waits in `waiting_`, `calls_` is not 0, so that an `end_call` will resume the caller.

namespace rest_fcgi::gateway {

/// An io_context, which at most one thread at a time runs. The pool's mutex guards the members after `work`.
struct ThreadPool::Loop {
  asio::io_context context{1};
  asio::executor_work_guard<Executor> work = asio::make_work_guard(context);
  bool has_thread = false;
  std::uint64_t owner = 0;  ///< `owner` changes whenever a thread takes the loop.
  bool is_blocked = false;
  std::uint64_t blocked = 0;  ///< `blocked` counts how often threads of this loop have begun to block.
  std::uint64_t seen = 0;     ///< `seen` is the value of `blocked` at the last tick.
};

namespace {

/// The number of calls for monitoring that may run in addition to `max_calls`.
constexpr std::size_t kMonitoringCalls = 8;

/// The longest wait of `stop` for threads outside of calls.
constexpr std::chrono::seconds kEnd{5};

/// The interval at which an idle thread looks for blocked loops.
constexpr std::chrono::milliseconds kTick{5};

/// After this number of ticks without a call, idle threads wait without a time limit and no longer look for
/// blocked loops.
constexpr unsigned kQuietTicks = 20;

/// After a slow call, each call in this number of ticks immediately releases the loop of its thread, because
/// the call may be slow, too.
constexpr unsigned kSlowTicks = 20;

/// `running_loop` is the loop that this thread runs, or nullptr. `ownership` is the loop's `owner` at the
/// time when this thread took the loop. If `owner` has another value now, another thread has the loop.
thread_local void* running_loop = nullptr;
thread_local std::uint64_t ownership = 0;

ThreadLimits sane(ThreadLimits limits) {
  limits.max_calls = std::max<std::size_t>(limits.max_calls, 1);
  limits.min_threads = std::clamp<std::size_t>(limits.min_threads, 1, limits.max_calls);
  return limits;
}

/// Keeps one thread without a loop if possible, so that this thread can take over a blocked loop.
std::size_t loop_count(const ThreadLimits& limits) {
  const std::size_t processors = std::max(std::thread::hardware_concurrency(), 1U);
  return std::clamp<std::size_t>(limits.min_threads - 1, 1, processors);
}

}  // namespace

ThreadPool::ThreadPool(const ThreadLimits& limits)
    : limits_(sane(limits)), loops_(loop_count(limits_)), next_look_(system_clock().steady()) {}

ThreadPool::~ThreadPool() = default;

asio::io_context& ThreadPool::context() noexcept {
  return loops_[turn_++ % loops_.size()].context;
}

bool ThreadPool::is_in_loop() noexcept {
  return running_loop != nullptr;
}

Result<void> ThreadPool::start(std::weak_ptr<void> owner) {
  owner_ = std::move(owner);
  const MutexLock lock(mutex_);
  while (threads_ < limits_.min_threads && !is_start_failing_) add_thread_locked();
  const std::size_t needed = std::min(limits_.min_threads, loops_.size() + 1);
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
    is_start_failing_ = false;
  } else if (!std::exchange(is_start_failing_, true)) {
    log::error(format("cannot start another worker thread; {} threads stay in use: {}", threads_,
                      thread.error().message));
  }
}

void ThreadPool::ensure_thread_locked() {
  if (blocking_ + loops_.size() >= threads_) add_thread_locked();
}

void ThreadPool::run() noexcept {
  MutexLock lock(mutex_);
  while (!is_stopping_) {
    if (Loop* loop = free_loop_locked()) {
      run_loop(*loop, lock);
    } else if (surplus_ != 0) {
      --surplus_;
      break;
    } else {
      wait(lock);
    }
  }
  --running_;
  thread_ended_.notify_all();
}

ThreadPool::Loop* ThreadPool::free_loop_locked() noexcept {
  for (Loop& loop : loops_) {
    if (!loop.has_thread) return &loop;
  }
  return nullptr;
}

void ThreadPool::run_loop(Loop& loop, MutexLock& lock) noexcept {
  loop.has_thread = true;
  loop.is_blocked = false;
  ownership = ++loop.owner;
  running_loop = &loop;
  if (quiet_ticks_ < kQuietTicks && !is_watched_) wakeup_.notify_one();
  lock.unlock();
  while (running_loop != nullptr) {
    try {
      if (loop.context.run_one() == 0)
        running_loop = nullptr;  // The result 0 means that the context has stopped, because the pool ends.
    } catch (...) {
      log_exception("a connection was dropped after an exception");
    }
  }
  // Wakes the thread that now runs the loop, so that it continues the operations that this thread has left.
  log::safely([&loop] { asio::post(loop.context, [] {}); });
  lock.lock();
}

void ThreadPool::wait(MutexLock& lock) {
  if (is_watched_ || quiet_ticks_ >= kQuietTicks) return wakeup_.wait(lock);
  is_watched_ = true;
  const auto status = wakeup_.wait_for(lock, kTick);
  is_watched_ = false;
  if (status == std::cv_status::timeout) watch_locked();
}

void ThreadPool::watch_locked() {
  ++quiet_ticks_;
  if (slow_ticks_ != 0) --slow_ticks_;
  for (Loop& loop : loops_) {
    const bool is_slow = loop.is_blocked && loop.has_thread && loop.seen == loop.blocked;
    if (is_slow) {
      slow_ticks_ = kSlowTicks;
      release_locked(loop);
    }
    if (std::exchange(loop.seen, loop.blocked) != loop.blocked || loop.is_blocked) quiet_ticks_ = 0;
  }
}

void ThreadPool::release_locked(Loop& loop) {
  loop.has_thread = false;
  loop.is_blocked = false;
  wakeup_.notify_one();
}

void ThreadPool::begin_blocking() {
  const MutexLock lock(mutex_);
  ensure_thread_locked();
  most_blocking_ = std::max(most_blocking_, ++blocking_);
  if (running_loop == nullptr) return;
  Loop& loop = *static_cast<Loop*>(running_loop);
  ++loop.blocked;
  loop.is_blocked = true;
  if (slow_ticks_ != 0) {
    release_locked(loop);
  } else if (std::exchange(quiet_ticks_, 0) >= kQuietTicks) {
    wakeup_.notify_one();
  }
}

void ThreadPool::end_blocking() noexcept {
  const MutexLock lock(mutex_);
  --blocking_;
  if (running_loop == nullptr) return;
  Loop& loop = *static_cast<Loop*>(running_loop);
  if (loop.has_thread && loop.owner == ownership) {
    loop.is_blocked = false;
  } else if (!loop.has_thread) {
    loop.has_thread = true;
    ownership = ++loop.owner;
  } else {
    running_loop = nullptr;
  }
}

/// Returns false if `max_calls` calls run, or if the call would block the last free thread.
bool ThreadPool::begin_call_locked(std::size_t max_calls) {
  if (calls_ >= max_calls) return false;
  ensure_thread_locked();
  if (calls_ != 0 && calls_ + 1 >= threads_) return false;
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
  if (!waiting_.empty() || !begin_call_locked(limits_.max_calls)) return std::nullopt;
  return Call(*this);
}

std::optional<ThreadPool::Call> ThreadPool::try_begin_monitoring_call() {
  const MutexLock lock(mutex_);
  if (!begin_call_locked(limits_.max_calls + kMonitoringCalls)) return std::nullopt;
  return Call(*this);
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
        if (waiting_.empty() && begin_call_locked(limits_.max_calls)) return resume();
        waiting_.push_back(resume);
      },
      use_task);
}

/// Ends a call, and begins the call of the caller that has waited longest.
void ThreadPool::end_call() noexcept {
  const MutexLock lock(mutex_);
  if (waiting_.empty() || calls_ > limits_.max_calls) {
    --calls_;
    return;
  }
  const auto resume = std::move(waiting_.front());
  waiting_.pop_front();
  resume();
}

void ThreadPool::shrink(SteadyTime now) {
  const MutexLock lock(mutex_);
  if (now < next_look_) return;
  next_look_ = now + limits_.idle_timeout;
  if (calls_ < limits_.max_calls) is_exhaustion_logged_ = false;
  const std::size_t needed =
      std::max(std::exchange(most_blocking_, blocking_), blocking_) + limits_.min_threads;
  for (; threads_ > needed; --threads_) ++surplus_;
  if (surplus_ != 0) wakeup_.notify_all();
}

std::size_t ThreadPool::stop(SteadyTime deadline) {
  MutexLock lock(mutex_);
  is_stopping_ = true;
  for (Loop& loop : loops_) loop.context.stop();
  wakeup_.notify_all();
  const auto ended = [this]() REQUIRES(mutex_) { return running_ == 0; };
  if (thread_ended_.wait_until(lock, deadline, ended)) return 0;
  if (calls_ == 0) thread_ended_.wait_for(lock, kEnd, ended);
  return calls_;
}

}  // namespace rest_fcgi::gateway

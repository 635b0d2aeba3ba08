// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>

#include "gateway/asio.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/waiting.h"

namespace rest_fcgi::gateway {

struct ThreadLimits {
  std::size_t min_threads = 1;  ///< The number of threads that stay when they are idle.
  std::size_t max_calls = 1;
  std::size_t max_waiting = 0;  ///< The number of calls that may wait while `max_calls` calls run.
  std::chrono::milliseconds idle_timeout{10000};
};

/// The threads of the gateway. One thread for two processors serves the event loop and calls the
/// applications. While such a thread waits (`Waiting`), another thread serves the loop. Thread-safe.
class ThreadPool final : private WaitObserver {
 public:
  explicit ThreadPool(const ThreadLimits& limits);

  [[nodiscard]] asio::io_context& context() noexcept { return context_; }
  [[nodiscard]] const ThreadLimits& limits() const noexcept { return limits_; }

  /// Starts `min_threads` threads. Each thread holds a reference to `owner`, because the thread may outlive
  /// the gateway. Errors: internal, if fewer than two threads can be started, but `min_threads` is larger.
  Result<void> start(std::weak_ptr<void> owner);

  /// The right to call an application. The destructor gives the right back to the pool. Movable.
  class Call {
   public:
    explicit Call(ThreadPool& pool, bool is_monitoring = false) noexcept
        : pool_(&pool), is_monitoring_(is_monitoring) {}
    Call(Call&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), is_monitoring_(other.is_monitoring_) {}
    Call& operator=(Call&& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(is_monitoring_, other.is_monitoring_);
      return *this;
    }
    ~Call() {
      if (pool_ != nullptr) pool_->end_call(is_monitoring_);
    }

   private:
    ThreadPool* pool_;
    bool is_monitoring_;
  };

  /// Waits for earlier callers and begins a call. Returns std::nullopt if `max_waiting` callers wait.
  Task<std::optional<Call>> begin_call();

  [[nodiscard]] std::optional<Call> try_begin_call();

  /// Begins the call of a monitoring request. Up to 8 such calls do not count for `max_calls`.
  [[nodiscard]] std::optional<Call> try_begin_monitoring_call();

  [[nodiscard]] bool has_free_call() const {
    const MutexLock lock(mutex_);
    return calls_ < limits_.max_calls && waiting_.empty();
  }

  struct Counts {
    std::size_t threads;
    std::size_t waiting;
  };
  [[nodiscard]] Counts counts() const {
    const MutexLock lock(mutex_);
    return {threads_, waiting_.size()};
  }

  /// Ends threads that were not needed in the last `idle_timeout`. If all threads that serve the loop have
  /// been in calls since the last `maintain`, lets one more thread serve the loop. REQUIRES: is called a few
  /// times a second.
  void maintain(SteadyTime now);

  /// Ends all threads outside of calls, and waits for the other threads until `deadline`. Returns the number
  /// of threads that are then still inside a call.
  std::size_t stop(SteadyTime deadline);

 private:
  bool begin_call_locked() REQUIRES(mutex_);
  void add_thread_locked() REQUIRES(mutex_);
  void ensure_service_locked() REQUIRES(mutex_);

  Task<> wait_for_call();
  void end_call(bool is_monitoring) noexcept;
  void begin_wait() noexcept override;
  void end_wait() noexcept override;
  void run() noexcept;
  void serve() noexcept;

  const ThreadLimits limits_;
  asio::io_context context_;
  asio::executor_work_guard<Executor> work_ = asio::make_work_guard(context_);
  std::weak_ptr<void> owner_;

  std::atomic<std::size_t> serving_ = 0;  ///< The number of threads that serve the loop and do not wait.
  const std::size_t usual_serving_;
  std::atomic<std::size_t> most_serving_;  ///< `usual_serving_`, and more after waits without a `Waiting`.
  std::atomic<std::uint64_t> steps_ = 0;   ///< The number of handlers that have ended.

  mutable Mutex mutex_;
  std::condition_variable wakeup_;  ///< Notified if the loop needs a thread, and at the pool's end.
  std::condition_variable thread_ended_;
  /// Resumes the coroutines that wait in `begin_call`.
  std::deque<std::function<void()>> waiting_ GUARDED_BY(mutex_);
  std::size_t calls_ GUARDED_BY(mutex_) = 0;
  std::size_t monitoring_calls_ GUARDED_BY(mutex_) = 0;
  std::size_t idle_ GUARDED_BY(mutex_) = 0;    ///< The number of threads that wait in `run`.
  std::size_t called_ GUARDED_BY(mutex_) = 0;  ///< The number of threads that start or wake up.
  std::size_t waits_ GUARDED_BY(mutex_) = 0;   ///< The number of threads in a `Waiting`.
  /// The peak of `waits_` since `maintain` last looked for threads to end.
  std::size_t most_waits_ GUARDED_BY(mutex_) = 0;
  /// `threads_` is the number of threads that `maintain` has not asked to end.
  std::size_t threads_ GUARDED_BY(mutex_) = 0;
  /// `running_` is the number of threads that have not ended yet.
  std::size_t running_ GUARDED_BY(mutex_) = 0;
  /// The number of idle threads that have to end.
  std::size_t surplus_ GUARDED_BY(mutex_) = 0;
  std::uint64_t seen_steps_ GUARDED_BY(mutex_) = 0;
  bool is_stopping_ GUARDED_BY(mutex_) = false;
  /// The number of all threads started so far, used in their names.
  std::size_t started_ GUARDED_BY(mutex_) = 0;
  bool is_start_failing_ GUARDED_BY(mutex_) = false;
  bool is_exhaustion_logged_ GUARDED_BY(mutex_) = false;
  SteadyTime next_look_ GUARDED_BY(mutex_);
};

}  // namespace rest_fcgi::gateway

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

namespace rest_fcgi::gateway {

struct ThreadLimits {
  std::size_t min_threads = 1;  ///< The number of threads that stay when they are idle.
  std::size_t max_calls = 1;
  std::size_t max_waiting = 0;  ///< The number of calls that may wait while `max_calls` calls run.
  std::chrono::milliseconds idle_timeout{10000};
};

/// The threads and event loops of the gateway. A call of an application blocks its thread, and the loop that
/// this thread runs. If a call takes longer than a tick (5 ms), an idle thread takes over the loop.
/// Thread-safe.
class ThreadPool {
  struct Loop;

 public:
  explicit ThreadPool(const ThreadLimits& limits);
  ~ThreadPool();

  /// Returns the loop for a new connection. Each loop is returned in turn.
  [[nodiscard]] asio::io_context& context() noexcept;
  [[nodiscard]] const ThreadLimits& limits() const noexcept { return limits_; }

  [[nodiscard]] static bool is_in_loop() noexcept;

  /// Starts `min_threads` threads. Each thread holds a reference to `owner`, because the thread may outlive
  /// the gateway. Errors: internal, if fewer threads can be started than the loops need, which is one for
  /// each loop and one that can take over a blocked loop.
  Result<void> start(std::weak_ptr<void> owner);

  /// A scope in which the calling thread may block. REQUIRES: one thread makes and destroys the object.
  class Blocking {
   public:
    explicit Blocking(ThreadPool& pool) : pool_(pool) { pool_.begin_blocking(); }
    ~Blocking() { pool_.end_blocking(); }
    Blocking(const Blocking&) = delete;
    Blocking& operator=(const Blocking&) = delete;

   private:
    ThreadPool& pool_;
  };

  /// The right to call an application. The destructor gives the right back to the pool. Movable.
  class Call {
   public:
    explicit Call(ThreadPool& pool) noexcept : pool_(&pool) {}
    Call(Call&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)) {}
    Call& operator=(Call&& other) noexcept {
      std::swap(pool_, other.pool_);
      return *this;
    }
    ~Call() {
      if (pool_ != nullptr) pool_->end_call();
    }

   private:
    ThreadPool* pool_;
  };

  /// Waits for earlier callers and begins a call. Returns std::nullopt if `max_waiting` callers wait.
  Task<std::optional<Call>> begin_call();

  [[nodiscard]] std::optional<Call> try_begin_call();

  /// Begins the call of a monitoring request. Up to 8 such calls may exceed `max_calls`.
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

  /// Ends threads that were not needed in the last `idle_timeout`.
  void shrink(SteadyTime now);

  /// Ends all threads outside of calls, and waits for the other threads until `deadline`. Returns the number
  /// of threads that are then still inside a call.
  std::size_t stop(SteadyTime deadline);

 private:
  bool begin_call_locked(std::size_t max_calls) REQUIRES(mutex_);
  void add_thread_locked() REQUIRES(mutex_);
  void ensure_thread_locked() REQUIRES(mutex_);
  Loop* free_loop_locked() noexcept REQUIRES(mutex_);
  void release_locked(Loop& loop) REQUIRES(mutex_);
  void watch_locked() REQUIRES(mutex_);

  Task<> wait_for_call();
  void end_call() noexcept;
  void begin_blocking();
  void end_blocking() noexcept;
  void run() noexcept;
  void run_loop(Loop& loop, MutexLock& lock) noexcept REQUIRES(mutex_) NOT_ANALYZED;
  void wait(MutexLock& lock) REQUIRES(mutex_);

  const ThreadLimits limits_;
  std::deque<Loop> loops_;
  std::atomic<std::size_t> turn_ = 0;
  std::weak_ptr<void> owner_;

  mutable Mutex mutex_;
  std::condition_variable wakeup_;  ///< `wakeup_` is notified if a loop has no thread, or at the pool's end.
  std::condition_variable thread_ended_;
  /// Resumes the coroutines that wait in `begin_call`.
  std::deque<std::function<void()>> waiting_ GUARDED_BY(mutex_);
  std::size_t calls_ GUARDED_BY(mutex_) = 0;
  std::size_t blocking_ GUARDED_BY(mutex_) = 0;  ///< `blocking_` is the number of threads that may block.
  /// `most_blocking_` is the peak of `blocking_` since the last `shrink`.
  std::size_t most_blocking_ GUARDED_BY(mutex_) = 0;
  /// `threads_` is the number of threads that `shrink` has not asked to end.
  std::size_t threads_ GUARDED_BY(mutex_) = 0;
  /// `running_` is the number of threads that have not ended yet.
  std::size_t running_ GUARDED_BY(mutex_) = 0;
  std::size_t surplus_ GUARDED_BY(mutex_) = 0;
  /// The number of all threads started so far, used in their names.
  std::size_t started_ GUARDED_BY(mutex_) = 0;
  bool is_stopping_ GUARDED_BY(mutex_) = false;
  bool is_watched_ GUARDED_BY(mutex_) = false;
  unsigned quiet_ticks_ GUARDED_BY(mutex_) = 0;
  /// Counts down from `kSlowTicks` after a slow call.
  unsigned slow_ticks_ GUARDED_BY(mutex_) = 0;
  bool is_start_failing_ GUARDED_BY(mutex_) = false;
  bool is_exhaustion_logged_ GUARDED_BY(mutex_) = false;
  SteadyTime next_look_ GUARDED_BY(mutex_);
};

}  // namespace rest_fcgi::gateway

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
#include <mutex>
#include <optional>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>

#include "gateway/asio.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::gateway {

struct ThreadLimits {
  std::size_t min_threads = 1;  ///< idle threads that stay, in addition to the threads inside calls
  std::size_t max_calls = 1;
  std::size_t max_waiting = 0;  ///< calls that may wait while `max_calls` calls run
  std::chrono::milliseconds idle_timeout{10000};
};

/// The threads and event loops of the gateway. A call of an application blocks its thread and the loop that
/// this thread runs. A quick call keeps the loop, because waking another thread costs more than the call. If
/// a call lasts longer than a tick, an idle thread takes over the loop. Thread-safe.
class ThreadPool {
  struct Loop;

 public:
  explicit ThreadPool(const ThreadLimits& limits);
  ~ThreadPool();

  /// Returns the loop for a new connection. Each call returns the next of the loops.
  [[nodiscard]] asio::io_context& context() noexcept;
  [[nodiscard]] const ThreadLimits& limits() const noexcept { return limits_; }

  /// Returns whether the calling thread runs a loop.
  [[nodiscard]] static bool is_in_loop() noexcept;

  /// Starts `min_threads` threads. Each thread holds a reference to `owner`, which owns the pool, because a
  /// thread may outlive the gateway. Errors: internal, if no thread can be started.
  Result<void> start(std::weak_ptr<void> owner);

  /// A scope in which the calling thread may block. The same thread makes and destroys it.
  class Blocking {
   public:
    explicit Blocking(ThreadPool& pool) : pool_(pool) { pool_.begin_blocking(); }
    ~Blocking() { pool_.end_blocking(); }
    Blocking(const Blocking&) = delete;
    Blocking& operator=(const Blocking&) = delete;

   private:
    ThreadPool& pool_;
  };

  /// The right to call an application. The destructor gives the right back. Movable.
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

  /// Begins a call. While `max_calls` calls run, the caller waits; callers continue in order of arrival.
  /// Returns std::nullopt if `max_waiting` callers wait already.
  Task<std::optional<Call>> begin_call();

  /// Begins a call without waiting. Returns std::nullopt if the caller would have to wait.
  [[nodiscard]] std::optional<Call> try_begin_call();

  /// Begins a call for monitoring without waiting. Such a call may exceed `max_calls`, so that it runs while
  /// all other calls are busy. Returns std::nullopt if 8 calls exceed `max_calls` already.
  [[nodiscard]] std::optional<Call> try_begin_monitoring_call();

  /// Returns whether a call could begin now.
  [[nodiscard]] bool has_free_call() const {
    const std::lock_guard lock(mutex_);
    return calls_ < limits_.max_calls && waiting_.empty();
  }

  struct Counts {
    std::size_t threads;
    std::size_t waiting;
  };
  [[nodiscard]] Counts counts() const {
    const std::lock_guard lock(mutex_);
    return {threads_, waiting_.size()};
  }

  /// Ends threads that were not needed in the last `idle_timeout`. To be called regularly.
  void shrink(SteadyTime now);

  /// Ends all threads outside of calls, and waits until `deadline` for the threads inside calls. Returns the
  /// number of threads that are still inside a call. These threads end after their calls.
  std::size_t stop(SteadyTime deadline);

 private:
  // REQUIRES: mutex_ is held.
  bool begin_call_locked(std::size_t max_calls);
  void add_thread_locked();
  void ensure_thread_locked();
  Loop* free_loop_locked() noexcept;
  void release_locked(Loop& loop);
  void watch_locked();

  Task<> wait_for_call();
  void end_call() noexcept;
  void begin_blocking();
  void end_blocking() noexcept;
  void run() noexcept;
  void run_loop(Loop& loop, std::unique_lock<std::mutex>& lock) noexcept;
  void wait(std::unique_lock<std::mutex>& lock);

  const ThreadLimits limits_;
  std::deque<Loop> loops_;
  std::atomic<std::size_t> turn_ = 0;
  std::weak_ptr<void> owner_;

  mutable std::mutex mutex_;        // guards all members below
  std::condition_variable wakeup_;  ///< notified when a loop has no thread, or when the pool ends
  std::condition_variable thread_ended_;
  std::deque<std::function<void()>>
      waiting_;  ///< each function resumes a coroutine that waits for `begin_call`
  std::size_t calls_ = 0;
  std::size_t blocking_ = 0;       ///< threads that may block
  std::size_t most_blocking_ = 0;  ///< highest value of blocking_ since the last check of `shrink`
  std::size_t threads_ = 0;        ///< number of threads, without the threads that `shrink` ends
  std::size_t running_ = 0;        ///< number of threads, with the threads that `shrink` ends
  std::size_t surplus_ = 0;        ///< number of threads that have to end
  std::size_t started_ = 0;        ///< number of threads ever started, for their names
  bool is_stopping_ = false;
  bool is_watched_ = false;  ///< a thread waits for the next tick
  unsigned quiet_ticks_ = 0;
  unsigned slow_ticks_ = 0;  ///< for this many more ticks, each call releases its loop at once
  bool is_start_failing_ = false;
  bool is_exhaustion_logged_ = false;
  SteadyTime next_look_;
};

}  // namespace rest_fcgi::gateway

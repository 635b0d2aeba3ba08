// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
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
  std::size_t min_threads = 1;  ///< kept beside those inside calls
  std::size_t max_calls = 1;
  std::size_t max_waiting = 0;  ///< calls that wait while there are max_calls
  std::chrono::milliseconds idle_timeout{10000};
};

/// The threads that run the gateway's io_context. A call of an application blocks its thread, so that the
/// pool has one thread more than there are calls: connections are accepted and read while all calls are slow.
/// Thread-safe.
class ThreadPool {
 public:
  explicit ThreadPool(const ThreadLimits& limits);

  [[nodiscard]] asio::io_context& context() noexcept { return context_; }
  [[nodiscard]] const ThreadLimits& limits() const noexcept { return limits_; }

  /// Starts `min_threads` threads. Each holds `owner`, which owns the pool: a thread may outlive the gateway.
  /// Errors: internal, where not one thread can be started.
  Result<void> start(std::weak_ptr<void> owner);

  /// The right to call an application on this thread. Moves; ends the call when it goes.
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

  /// Begins a call. Waits, first come, first served, while there are max_calls. std::nullopt: max_waiting
  /// calls wait already.
  Task<std::optional<Call>> begin_call();

  /// Begins a call if that takes no waiting.
  [[nodiscard]] std::optional<Call> try_begin_call();

  /// Returns whether a call could begin now.
  [[nodiscard]] bool has_free_call() const {
    const std::lock_guard lock(mutex_);
    return calls_ < limits_.max_calls && waiting_.empty();
  }

  /// Ends threads that were not needed during the last `idle_timeout`. To be called now and then.
  void shrink(SteadyTime now);

  /// Ends all threads that are in no call, and waits until `deadline` for those that are. Returns how many
  /// calls have not ended; their threads end after them.
  std::size_t stop(SteadyTime deadline);

 private:
  struct EndOfThread {};  // thrown inside one thread to end it

  bool begin_locked();       // REQUIRES: mutex_ is held
  void add_thread_locked();  // REQUIRES: mutex_ is held
  Task<> wait_for_call();
  void end_call() noexcept;
  void run() noexcept;

  const ThreadLimits limits_;
  asio::io_context context_;
  asio::executor_work_guard<Executor> work_;
  std::weak_ptr<void> owner_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable thread_ended_;
  std::deque<std::function<void()>> waiting_;  ///< each resumes a coroutine that waits for a call
  std::size_t calls_ = 0;
  std::size_t most_calls_ = 0;  ///< at a time, since the last look of `shrink`
  std::size_t threads_ = 0;     ///< without those that were told to end
  std::size_t running_ = 0;
  std::size_t started_ = 0;  ///< ever, for the threads' names
  bool is_start_failing_ = false;
  bool is_exhaustion_logged_ = false;
  SteadyTime next_look_;
};

}  // namespace rest_fcgi::gateway

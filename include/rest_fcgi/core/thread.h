// SPDX-License-Identifier: MIT
#pragma once

#include <pthread.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "rest_fcgi/core/result.h"

namespace rest_fcgi {

/// What the many threads take that answer requests and run jobs: hundreds of them have to be cheap. More
/// where sanitizers make each frame several times as large.
extern const std::size_t kSmallStack;

/// Owns a thread of its own making, and waits for its end when it goes. Signals of the process never come to
/// such a thread: all are blocked in it, and in nothing else. Moves; not synchronized.
class Thread {
 public:
  Thread() = default;
  Thread(Thread&& other) noexcept { swap(other); }
  Thread& operator=(Thread&& other) noexcept {
    Thread(std::move(other)).swap(*this);
    return *this;
  }
  ~Thread() { join(); }

  /// Calls `body` on a new thread, which destroys it afterwards. An exception that leaves it ends the
  /// process. `name` is what ps(1) shows, up to 15 bytes; `stack_bytes` of 0 are what the system gives
  /// usually (8 MiB). Errors: internal, where no thread can be had; `body` is destroyed then without a call.
  template <class Body>
  [[nodiscard]] static Result<Thread> start(const std::string& name, Body body, std::size_t stack_bytes = 0) {
    auto task = std::make_unique<TaskOf<Body>>(std::move(body));
    task->name = name;
    return start_task(std::move(task), stack_bytes);
  }

  /// Is there one that was neither waited for nor let go?
  [[nodiscard]] bool joinable() const noexcept { return joinable_; }

  /// Waits for its end. Nothing where there is none.
  void join() noexcept;

  /// Lets it go on by itself. Nothing where there is none.
  void detach() noexcept;

 private:
  struct Task {
    virtual ~Task() = default;
    virtual void run() = 0;
    std::string name;
  };
  template <class Body>
  struct TaskOf final : Task {
    explicit TaskOf(Body its_body) : body(std::move(its_body)) {}
    void run() override { body(); }
    Body body;
  };

  static Result<Thread> start_task(std::unique_ptr<Task> task, std::size_t stack_bytes);
  static void* run(void* task) noexcept;
  void swap(Thread& other) noexcept {
    std::swap(thread_, other.thread_);
    std::swap(joinable_, other.joinable_);
  }

  pthread_t thread_{};
  bool joinable_ = false;
};

}  // namespace rest_fcgi

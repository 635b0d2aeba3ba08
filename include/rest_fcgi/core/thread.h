// SPDX-License-Identifier: MIT
#pragma once

#include <pthread.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "rest_fcgi/core/result.h"

namespace rest_fcgi {

/// Stack size in bytes of threads for requests and jobs. A sanitizer needs a larger stack.
extern const std::size_t kSmallStack;

/// A thread that blocks all signals. The destructor waits for the thread's end. A Thread is not thread-safe.
class Thread {
 public:
  Thread() = default;
  Thread(Thread&& other) noexcept { swap(other); }
  Thread& operator=(Thread&& other) noexcept {
    Thread(std::move(other)).swap(*this);
    return *this;
  }
  ~Thread() { join(); }

  /// Starts a thread that calls `body` and then destroys `body`. An exception from `body` ends the process. A
  /// `stack_bytes` of 0 means the system's default size. Errors: internal, if the system cannot start a
  /// thread.
  template <class Body>
  static Result<Thread> start(const std::string& name, Body body, std::size_t stack_bytes = 0) {
    auto task = std::make_unique<TaskOf<Body>>(std::move(body));
    task->name = name;
    return start_task(std::move(task), stack_bytes);
  }

  [[nodiscard]] bool joinable() const noexcept { return joinable_; }

  /// Waits until the thread ends. Does nothing if no thread was started.
  void join() noexcept;

  /// Lets the thread run on without this object. Does nothing if no thread was started.
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

// SPDX-License-Identifier: MIT
#pragma once

#include <pthread.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "rest_fcgi/core/result.h"

namespace rest_fcgi {

/// Stack size of threads for requests and jobs, of which there may be hundreds. Larger with sanitizers.
extern const std::size_t kSmallStack;

/// A thread with all signals blocked, which is joined on destruction. Moves only; not synchronized.
class Thread {
 public:
  Thread() = default;
  Thread(Thread&& other) noexcept { swap(other); }
  Thread& operator=(Thread&& other) noexcept {
    Thread(std::move(other)).swap(*this);
    return *this;
  }
  ~Thread() { join(); }

  /// Calls `body` on a new thread and destroys it afterwards. An exception ends the process. `name` is shown
  /// by ps(1), up to 15 bytes. `stack_bytes`: 0 for the system's default (8 MiB). Errors: internal, if no
  /// thread can be started; `body` is then destroyed.
  template <class Body>
  [[nodiscard]] static Result<Thread> start(const std::string& name, Body body, std::size_t stack_bytes = 0) {
    auto task = std::make_unique<TaskOf<Body>>(std::move(body));
    task->name = name;
    return start_task(std::move(task), stack_bytes);
  }

  [[nodiscard]] bool joinable() const noexcept { return joinable_; }

  /// Waits for the end of the thread, if there is one.
  void join() noexcept;

  /// Lets the thread continue without an owner, if there is one.
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

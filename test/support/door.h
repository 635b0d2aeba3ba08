// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>

#include "rest_fcgi/core/waiting.h"

namespace rest_fcgi::test {

/// A door at which threads wait until a test opens it. Thread-safe.
class Door {
 public:
  /// With `is_declared` false, `pass` waits as code that has no `Waiting`.
  void pass(bool is_declared = true) {
    std::optional<Waiting> waiting;
    if (is_declared) waiting.emplace();
    std::unique_lock lock(mutex_);
    ++inside_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --inside_;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  /// Waits until `count` threads wait at the door, or until a time limit. Returns the number of waiting
  /// threads.
  std::size_t waiting(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return inside_ >= count; });
    return inside_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t inside_ = 0;
  bool open_ = false;
};

}  // namespace rest_fcgi::test

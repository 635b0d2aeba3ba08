// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::master {

/// What threads hand things to without waiting: `put` comes back at once. Thread-safe; who shares one holds a
/// shared_ptr, so that a sender which comes late finds it still there.
template <class T>
class Sink {
 public:
  Sink() = default;
  virtual ~Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  virtual void put(T item) = 0;
};

/// How threads hand things to the one thread that waits for them.
template <class T>
class Mailbox final : public Sink<T> {
 public:
  void put(T item) override {
    {
      const std::lock_guard lock(mutex_);
      items_.push_back(std::move(item));
    }
    arrived_.notify_one();
  }

  /// The oldest item, as soon as there is one; absent when `deadline` passed without.
  std::optional<T> take(SteadyTime deadline) {
    std::unique_lock lock(mutex_);
    if (!arrived_.wait_until(lock, deadline, [this] { return !items_.empty(); })) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    return item;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::list<T> items_;  // guarded by mutex_; an empty list has no memory, unlike a deque
};

}  // namespace rest_fcgi::master

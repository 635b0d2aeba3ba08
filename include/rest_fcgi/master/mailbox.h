// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::master {

/// How threads hand things to the one thread that waits for them. Thread-safe; who shares one holds a
/// shared_ptr, so that a sender which comes late finds it still there.
template <class T>
class Mailbox {
 public:
  Mailbox() = default;

  /// A mailbox that keeps nothing and hands each item on, for whoever waits for several senders in one place.
  /// `forward` is called by the sending threads, many at once, and throws nothing.
  explicit Mailbox(std::function<void(T)> forward) : forward_(std::move(forward)) {}

  void put(T item) {
    if (forward_) return forward_(std::move(item));
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
  const std::function<void(T)> forward_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<T> items_;  // guarded by mutex_
};

}  // namespace rest_fcgi::master

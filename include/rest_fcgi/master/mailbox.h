// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <list>
#include <optional>
#include <utility>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/waiting.h"

namespace rest_fcgi::master {

/// The interface of an object that receives items from any thread. `put` does not block. Thread-safe. Senders
/// share ownership of the Sink.
template <class T>
class Sink {
 public:
  Sink() = default;
  virtual ~Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  virtual void put(T item) = 0;
};

/// A queue of items for one thread that waits for them.
template <class T>
class Mailbox final : public Sink<T> {
 public:
  void put(T item) override {
    {
      const MutexLock lock(mutex_);
      items_.push_back(std::move(item));
    }
    arrived_.notify_one();
  }

  /// Removes and returns the oldest item. Waits until there is an item. Returns std::nullopt at `deadline`.
  std::optional<T> take(SteadyTime deadline) {
    MutexLock lock(mutex_);
    if (items_.empty()) {
      const Waiting waiting;
      if (!arrived_.wait_until(lock, deadline, [this]() REQUIRES(mutex_) { return !items_.empty(); }))
        return std::nullopt;
    }
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    return item;
  }

 private:
  Mutex mutex_;
  std::condition_variable arrived_;
  // An empty std::deque allocates memory, and an empty std::list does not.
  std::list<T> items_ GUARDED_BY(mutex_);
};

}  // namespace rest_fcgi::master

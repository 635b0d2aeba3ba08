// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace rest_fcgi::embedded {

/// A thread that looks after something twice a second for as long as there is something to look after. It
/// starts with the first need, and sleeps between needs. Thread-safe.
class Watcher {
 public:
  /// Returns whether it has to be called again. Throws nothing.
  using Look = std::function<bool()>;

  explicit Watcher(Look look) : look_(std::move(look)) {}

  /// Ends the thread, and waits for it. Nobody may call `wake` any more.
  ~Watcher() = default;
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// There is something to look after. Where no thread can be had, the log says so.
  void wake();

 private:
  void run(const std::stop_token& stop);

  const Look look_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool awake_ = false;   // guarded by mutex_
  std::jthread thread_;  // guarded by mutex_; goes first, as the thread uses the rest
};

}  // namespace rest_fcgi::embedded

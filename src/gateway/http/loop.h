// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/thread.h"

namespace boost::asio {
class io_context;
}

namespace rest_fcgi::gateway {

/// One thread that waits for all that may come on many connections. Shared by the connections, which it
/// outlives.
class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// For what waits in the loop: to be used on its thread, and before it starts.
  [[nodiscard]] boost::asio::io_context& context() noexcept { return *context_; }

  /// Starts the thread. Errors: internal.
  Result<void> start(const std::string& name);

  /// Has the loop's thread call `task` soon. After the end it is destroyed without a call. Thread-safe.
  void post(std::function<void()> task);

  /// Ends the thread. Who still waits in the loop hears of that at once, on the calling thread. Call once.
  void end() noexcept;

 private:
  void run() noexcept;

  std::unique_ptr<boost::asio::io_context> context_;
  std::mutex mutex_;
  bool ended_ = false;  // guarded by mutex_
  Thread thread_;
};

}  // namespace rest_fcgi::gateway

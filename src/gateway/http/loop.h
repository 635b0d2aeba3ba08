// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"

namespace boost::asio {
class io_context;
}

namespace rest_fcgi::gateway {

/// Waits for all that may come on many connections, with one thread that leads at a time. It may also do work
/// that takes long, which saves quick work the way to another thread and back: a second thread watches, and
/// when work has not ended soon it leads from then on, and the first one watches when it is done. Owned by
/// its threads, too, of which one may be at work when nobody else is left.
class Loop : public std::enable_shared_from_this<Loop> {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// For what waits in the loop: to be used by the thread that leads, and before the start.
  [[nodiscard]] boost::asio::io_context& context() noexcept { return *context_; }

  /// Starts the thread that leads, and where it `works` the one that watches. Errors: internal.
  Result<void> start(const std::string& name, bool works);

  /// Has the thread that leads call `task` soon. After the end it is destroyed without a call. Thread-safe.
  void post(std::function<void()> task);

  /// May the caller, which leads, do work now that may take long? Not where such work took long lately. True:
  /// `end_work` has to follow.
  [[nodiscard]] bool begin_work() noexcept;

  /// False: the caller leads no more. It has to return, and to leave alone what is for the thread that leads.
  [[nodiscard]] bool end_work() noexcept;

  /// Ends the threads. Who still waits in the loop hears of that at once, on the calling thread. Returns how
  /// many threads are still at work, which goes on. Call once.
  std::size_t end() noexcept;

 private:
  [[nodiscard]] Result<void> start_thread(const std::string& name, bool leads);
  void run(bool leads) noexcept;
  void lead() noexcept;
  void watch();
  [[nodiscard]] bool leads();

  std::unique_ptr<boost::asio::io_context> context_;

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::thread::id leader_;      ///< none at the end
  bool watched_ = false;        ///< the other thread watches
  bool watcher_rests_ = false;  ///< until work begins
  bool working_ = false;        ///< the leader is
  std::uint64_t works_ = 0;     ///< begun by leaders
  SteadyTime work_began_;
  SteadyTime no_work_before_;
  std::size_t strays_ = 0;   ///< threads at work that lead no more
  std::size_t threads_ = 0;  ///< that have not ended
  bool ending_ = false;
  bool ended_ = false;
};

}  // namespace rest_fcgi::gateway

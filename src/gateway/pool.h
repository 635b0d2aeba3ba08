// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "gateway/current_application.h"
#include "gateway/listener.h"
#include "gateway/sys.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/gateway/options.h"

namespace rest_fcgi::gateway {

/// The worker threads and what they share. Thread-safe. Each thread holds a reference, so that a thread which
/// is still at work when the gateway is gone finds everything in place.
///
/// As long as fewer than `max_threads` exist, one of them at least waits for a connection: whoever takes the
/// last one's place starts another thread first. A thread counts as idle from the moment it is started.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  Pool(const Options& options, std::unique_ptr<Listener> listener, http::Application application,
       UniqueFd stop_event);

  /// Starts `min_threads` threads. Errors: internal, if not even one can be started.
  Result<void> start();

  /// Further requests are answered by `application`; those in flight go on with the old one.
  void replace(http::Application application) { application_.replace(std::move(application)); }

  /// Takes no more connections than those that wait already, and lets threads end when they have nothing to
  /// do.
  void stop();

  /// Waits until all threads ended, but not after `deadline`. Returns how many are still at work.
  std::size_t wait_for_end(SteadyTime deadline);

  // What follows is for the threads.

  [[nodiscard]] const Options& options() const noexcept { return options_; }
  [[nodiscard]] const CurrentApplication& application() const noexcept { return application_; }
  [[nodiscard]] const Listener& listener() const noexcept { return *listener_; }

  /// Becomes readable, for ever and for all, when the gateway stops.
  [[nodiscard]] int stop_event() const noexcept { return stop_event_.get(); }
  [[nodiscard]] bool stopping() const noexcept { return stopping_; }

  /// A connection that waited when the gateway stopped; none: all are taken.
  UniqueFd take_waiting();

  /// The calling thread goes from idle to busy, and back.
  void begin_work() noexcept;
  void end_work() noexcept { idle_.fetch_add(1); }

  /// May the calling thread, which was idle for long, end? It then must.
  bool dismiss_idle();

  /// Nobody is there to take a connection, and nobody more will come.
  [[nodiscard]] bool exhausted() const noexcept {
    return idle_ <= 0 && (members_ >= options_.max_threads || start_failing_);
  }

  /// Accepting failed for want of something. Logs once until `accept_works`.
  void accept_fails(int error) noexcept;
  void accept_works() noexcept {
    if (accept_failing_.load(std::memory_order_relaxed)) accept_failing_ = false;
  }

  /// The last thing that a thread does.
  void thread_ends();

 private:
  void grow() noexcept;
  bool add_thread();            // REQUIRES: mutex_ is held
  Result<void> start_worker();  // REQUIRES: mutex_ is held
  void report_exhaustion();

  const Options options_;
  const std::unique_ptr<Listener> listener_;
  CurrentApplication application_;
  const UniqueFd stop_event_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> accept_failing_ = false;
  std::atomic<bool> start_failing_ = false;
  std::atomic<bool> exhaustion_reported_ = false;

  std::atomic<std::ptrdiff_t> idle_ = 0;  ///< threads that wait for a connection, or will right away
  std::atomic<std::size_t> members_ = 0;  ///< threads that take connections; changed under mutex_

  std::mutex mutex_;
  std::condition_variable thread_ended_;
  std::size_t running_ = 0;        // guarded by mutex_; members, and threads about to end
  std::size_t started_ = 0;        // guarded by mutex_; ever, for the threads' names
  std::vector<UniqueFd> waiting_;  // guarded by mutex_
};

}  // namespace rest_fcgi::gateway

// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "gateway/body_budget.h"
#include "gateway/listener.h"
#include "gateway/sys.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/gateway/gateway.h"
#include "rest_fcgi/gateway/options.h"

namespace rest_fcgi::gateway {

class Streams;
class Worker;

/// So many workers stay where connections come in while they work: that is cheaper than to go and to come
/// back.
inline constexpr std::ptrdiff_t kMostListening = 32;

/// What waits for a thread: a connection of FastCGI, or a task; at most one of the two is set.
struct Work {
  UniqueFd connection;
  std::function<void()> task;

  explicit operator bool() const noexcept { return connection || task; }
};

/// eventfd(2)s by which threads that wait in poll(2) or epoll_wait(2) are told something.
struct PoolEvents {
  UniqueFd stop;     ///< readable, for ever and for all: the gateway stops
  UniqueFd waiting;  ///< readable: work waits in the pool, and a thread that waits may take it
  UniqueFd crowded;  ///< readable: the accepting thread is needed

  /// Errors: internal.
  static Result<PoolEvents> make();
};

/// The worker threads, one thread more that accepts what they cannot take at once, and what all of them
/// share. Thread-safe. Each thread holds a reference, so that a thread which is still at work when the
/// gateway is gone finds everything in place.
///
/// An idle worker accepts its connection itself, which is the quickest way. Where no worker is to spare, the
/// accepting thread takes connections from the kernel at once, before the kernel's queue (net.core.somaxconn)
/// is full and refuses them; keeps them, `max_waiting` at most beyond those for which threads can be started;
/// and starts those threads. It answers whoever comes beyond that with 503. A listening socket that other
/// processes may share is left alone while no further thread can be started: they may have threads to spare.
/// Tasks wait in the same queue as connections do, and threads are started for both.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  Pool(const Options& options, std::unique_ptr<Listener> listener, PoolEvents events);
  ~Pool();

  /// Starts `min_threads` workers and the accepting thread. Errors: internal, if not even one worker can be
  /// started, or the accepting thread cannot. REQUIRES: `replace` was called.
  Result<void> start();

  /// Further requests are answered by `applications`; those in flight go on with the old ones.
  void replace(Applications applications);

  /// Has a thread run `task`, after all that waits. False: as much waits as may, and it is not run. What
  /// `continues` a request that was begun is always taken.
  bool submit(std::function<void()> task, bool continues = false);

  /// Takes no more connections than those that wait already. Tasks are still taken.
  void close();

  /// Lets threads end when they have nothing to do. REQUIRES: `close` was called.
  void stop();

  /// Waits until all threads ended, but not after `deadline`. Returns how many are still at work.
  std::size_t wait_for_end(SteadyTime deadline);

  // What follows is for the threads.

  [[nodiscard]] const Options& options() const noexcept { return options_; }
  [[nodiscard]] const Listener& listener() const noexcept { return *listener_; }
  [[nodiscard]] const PoolEvents& events() const noexcept { return events_; }
  [[nodiscard]] bool stopping() const noexcept { return stopping_; }

  /// Where responses with a feed go.
  [[nodiscard]] Streams& streams() noexcept { return *streams_; }

  /// The bodies of all front ends that are in memory.
  [[nodiscard]] BodyBudget& bodies() noexcept { return bodies_; }

  /// The applications that answer now. To be held for one request: what was replaced should end soon.
  [[nodiscard]] std::shared_ptr<const Applications> applications() const;

  /// Accepts a connection. None: there is none, or `accept_failing`, which is logged once.
  UniqueFd accept();
  [[nodiscard]] bool accept_failing() const noexcept { return accept_failing_; }

  /// What waits in the pool for a worker; nothing: nothing does.
  Work take_waiting();

  /// The calling worker saw `PoolEvents::waiting`, and takes what waits, or looks whether it may.
  void hear_waiting() noexcept;

  /// The calling worker goes from idle to busy, and back. A worker counts as idle from when it is started.
  void begin_work() noexcept;
  void end_work() noexcept { ++idle_; }

  /// Are there so many busy workers that they had better not be in each other's way?
  [[nodiscard]] bool many_work() const noexcept {
    return static_cast<std::ptrdiff_t>(members_.load(std::memory_order_relaxed)) - idle_ > kMostListening;
  }

  /// The calling worker, which is busy, waits on a kept connection, and no longer does. Where all threads are
  /// taken it gives that up for what waits in the pool.
  void begin_keeping() noexcept { ++keeping_; }
  void end_keeping() noexcept { --keeping_; }

  /// May the calling worker, which was idle for long, end? It then must.
  bool dismiss_idle();

  /// Nobody is there to take a connection, and nobody more will come.
  [[nodiscard]] bool exhausted() const noexcept {
    return idle_ <= 0 && (members_ >= options_.max_threads || start_failing_);
  }

 private:
  /// Idle workers beyond those that work waits for already.
  [[nodiscard]] std::ptrdiff_t spare() const noexcept { return idle_ - waiting_size_; }
  [[nodiscard]] bool has_room(std::size_t max_waiting) const noexcept;
  [[nodiscard]] std::size_t connections_that_may_wait() const noexcept;

  void accept_ahead(Worker& refuser) noexcept;
  void accept_all(Worker& refuser);
  void await_crowd() noexcept;
  void keep(Work work);
  void tell_waiting() noexcept;
  bool add_worker();
  Result<void> start_worker();  // REQUIRES: mutex_ is held
  void report_exhaustion() noexcept;

  const Options options_;
  BodyBudget bodies_{options_.max_body_bytes};
  const std::unique_ptr<Listener> listener_;
  const PoolEvents events_;
  const std::unique_ptr<Streams> streams_;
  std::atomic<bool> closing_ = false;   ///< the accepting thread has to end
  std::atomic<bool> stopping_ = false;  ///< and then all others
  std::atomic<bool> accept_failing_ = false;
  std::atomic<bool> start_failing_ = false;
  std::atomic<bool> exhaustion_reported_ = false;
  std::atomic<bool> watching_ = false;  ///< the accepting thread sees by itself who comes

  std::atomic<bool> told_ = false;  ///< events_.waiting is readable, and a worker on its way

  std::atomic<std::ptrdiff_t> idle_ = 0;          ///< workers that wait for a connection, or will right away
  std::atomic<std::ptrdiff_t> waiting_size_ = 0;  ///< of waiting_; changed under mutex_
  std::atomic<std::ptrdiff_t> keeping_ = 0;       ///< workers that wait on a kept connection
  std::atomic<std::size_t> members_ = 0;          ///< workers that take connections; changed under mutex_

  Thread accepting_;

  mutable std::mutex application_mutex_;
  std::shared_ptr<const Applications> applications_;  // guarded by application_mutex_

  std::mutex mutex_;
  std::condition_variable thread_ended_;
  std::size_t running_ = 0;   // guarded by mutex_; members, and workers about to end
  std::size_t started_ = 0;   // guarded by mutex_; workers ever, for the threads' names
  std::deque<Work> waiting_;  // guarded by mutex_; first come, first served
};

}  // namespace rest_fcgi::gateway

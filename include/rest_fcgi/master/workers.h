// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::master {

/// A pool of threads for slow tasks. Threads start when there is work, up to a limit, and end when they are
/// idle. Further tasks wait in a limited queue, which serves users in turn. A task that ignores a stop
/// request may outlive the pool. Thread-safe. REQUIRES: no task destroys the pool.
class Workers {
  struct State;

 public:
  /// A task of the pool. The task should end early after a stop request.
  using Task = std::function<void(std::stop_token)>;

  struct Limits {
    std::size_t threads = 1;  ///< `threads` is the largest number of threads. 0 counts as 1.
    std::size_t queued = 0;   ///< `queued` is the largest number of tasks that wait for a thread.
  };

  /// A Reservation keeps places in the pool for tasks of one job, one place for each task. The job can
  /// therefore be announced before its tasks are submitted. The destructor gives unused places back. A
  /// Reservation may outlive its Workers.
  class Reservation {
   public:
    Reservation(Reservation&& other) noexcept;
    Reservation& operator=(Reservation&&) = delete;
    ~Reservation();

    /// REQUIRES: the caller has reserved a place for the task.
    void submit(Task task);

   private:
    friend class Workers;
    Reservation(std::shared_ptr<State> state, std::string_view user, std::size_t count)
        : state_(std::move(state)), user_(user), left_(count) {}

    std::shared_ptr<State> state_;
    std::string user_;
    std::size_t left_;
  };

  explicit Workers(Limits limits);

  /// Asks running tasks to stop, and waits at most a second for them.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Reserves `count` places for tasks of a user. Fails with `unavailable` if too few places are free, if the
  /// pool has no thread and cannot start one, and after `close`.
  Result<Reservation> reserve(std::string_view user, std::size_t count);

  /// Refuses new tasks and waits for the running tasks until `deadline`. Returns whether all tasks have
  /// ended.
  bool close(SteadyTime deadline);

  void stop();

 private:
  static void run(const std::shared_ptr<State>& state);
  static bool start_thread(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;  // The threads may outlive the Workers, so they own the state, too.
};

}  // namespace rest_fcgi::master

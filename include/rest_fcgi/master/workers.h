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
/// idle. Further tasks wait in a limited queue, where the users take turns, so that many calls of one user do
/// not delay another. Thread-safe. REQUIRES: no task destroys the pool.
///
/// A task that ignores a stop request keeps its thread and what it owns after the pool is destroyed.
class Workers {
  struct State;

 public:
  /// Should end early after a stop request.
  using Task = std::function<void(std::stop_token)>;

  struct Limits {
    std::size_t threads = 1;  ///< 0 counts as 1
    std::size_t queued = 0;   ///< tasks that wait for a thread
  };

  /// Places for a number of tasks, so that a job is accepted as a whole or not at all, and can be announced
  /// before its tasks are submitted. The destructor gives unused places back. May outlive its Workers.
  class Reservation {
   public:
    Reservation(Reservation&& other) noexcept;
    Reservation& operator=(Reservation&&) = delete;
    ~Reservation();

    /// REQUIRES: no more tasks than were reserved.
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

  /// Asks running tasks to stop, and waits for them for at most a second.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Reserves places for tasks of that user. Errors: unavailable, if there are too few places, if no thread
  /// can be started, and after `close`.
  [[nodiscard]] Result<Reservation> reserve(std::string_view user, std::size_t count);

  /// Refuses new tasks, and waits until all have ended or until `deadline`. Returns whether all have ended.
  bool close(SteadyTime deadline);

  /// Drops waiting tasks, and asks running tasks to stop.
  void stop();

 private:
  static void run(const std::shared_ptr<State>& state);
  static bool start_thread(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;  // shared with the threads, which may end later than this object
};

}  // namespace rest_fcgi::master

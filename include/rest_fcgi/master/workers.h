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

/// Threads for what takes its time. There are none until there is work, then as many as there is work for, up
/// to a limit; an idle one ends after a while. Beyond the limit work waits in a queue, which is bounded as
/// well; there the users take turns, so that the many calls of one hold up no other. Thread-safe. Not to be
/// destroyed by one of its own tasks.
///
/// A task that does not end when it is asked to keeps its thread and what the task owns, and nothing else.
class Workers {
  struct State;

 public:
  /// Ends early when stop is requested, as well as it can.
  using Task = std::function<void(std::stop_token)>;

  struct Limits {
    std::size_t threads = 1;  ///< 0 counts as 1
    std::size_t queued = 0;   ///< tasks that wait for a thread
  };

  /// Room for a number of tasks, held until they are submitted, so that a job is either taken as a whole or
  /// not at all, and can be announced in between. What was not used is given back. May outlive its Workers.
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

  /// Asks what still runs to stop, and waits for it, a second at most.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Reserves room for tasks of that user. Errors: unavailable where so many do not fit, where no thread can
  /// be had, and after `close`.
  [[nodiscard]] Result<Reservation> reserve(std::string_view user, std::size_t count);

  /// Takes no more, and waits until nothing runs or waits any more, or until `deadline`. Returns whether all
  /// ended.
  bool close(SteadyTime deadline);

  /// Drops what still waits for a thread and asks what runs to stop.
  void stop();

 private:
  static void run(const std::shared_ptr<State>& state);
  static bool start_thread(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;  // shared with the threads, which may end later than this object
};

}  // namespace rest_fcgi::master

// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string_view>

#include "master/salt/events/bus_options.h"
#include "master/salt/events/listener.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::salt {

/// The one subscription of this process to the master's event bus, and the one thread that reads it. It hands
/// each event to the listener of its job, and nothing to anybody else. Joins by itself, again and again, as
/// long as it lives. Thread-safe.
class EventBus {
 public:
  /// While one of these lives, returns of jobs that nobody listens to are kept: a job's id is known only from
  /// the reply to its publication, which its first return may overtake. Moves; used by one thread; outlived
  /// by the bus.
  class Expectation {
   public:
    Expectation(Expectation&&) noexcept;
    Expectation& operator=(Expectation&&) = delete;
    ~Expectation();

    /// From now on `listener` hears what comes of this job, beginning with what came since this expectation
    /// was made. The bus drops it when it is not `wanted` any more. Where the bus was lost meanwhile, it is
    /// told so at once. Errors: unavailable, where too many jobs are listened to, or another one listens to
    /// this job.
    Result<void> listen(std::string_view jid, std::shared_ptr<Listener> listener);

   private:
    friend class EventBus;
    class State;
    explicit Expectation(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
  };

  /// Starts the thread, which joins the bus at once.
  static std::unique_ptr<EventBus> start(BusOptions options);
  EventBus(const EventBus&) = delete;
  EventBus& operator=(const EventBus&) = delete;
  /// Ends the thread. Who still listens is told that the bus is lost.
  ~EventBus();

  /// To be made before what starts a job is sent. Waits for the bus to be joined, until `deadline` and at
  /// most half a second. Errors: unavailable, Salt's sentence for a master that is not there, or which
  /// permission is missing.
  [[nodiscard]] Result<Expectation> expect(SteadyTime deadline);

 private:
  class Impl;
  explicit EventBus(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rest_fcgi::salt

// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <stop_token>

#include "master/salt/events/event_bus.h"
#include "master/salt/events/event_socket.h"
#include "master/salt/requests/request_pool.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/master/events.h"
#include "rest_fcgi/master/jid.h"
#include "rest_fcgi/master/salt/salt.h"
#include "rest_fcgi/master/workers.h"

namespace rest_fcgi::salt {

/// The Runtime that `make_runtime` returns. Each member is thread-safe and is called without a lock of
/// another member. Threads of requests use all members and may block. One thread reads the event bus
/// (`EventBus`). Two threads of ZeroMQ serve `ret_port` (`RequestPool`). Up to two threads run asynchronous
/// wheels (`Workers`).
class LiveRuntime final : public Runtime {
 public:
  LiveRuntime(std::unique_ptr<RequestPool> requests, const Options& options, const Clock& clock,
              master::JidReserve reserve_jids);

  [[nodiscard]] const std::shared_ptr<RequestPool>& requests() const noexcept { return requests_; }
  /// The first call starts the event bus. Fails with `internal`.
  Result<EventBus*> bus();
  [[nodiscard]] const std::shared_ptr<master::EventLog>& events() const noexcept { return events_; }
  [[nodiscard]] EventPusher& pusher() noexcept { return pusher_; }
  /// A stop of this token asks the programs of the client `ssh` to end.
  [[nodiscard]] std::stop_token stop_token() const noexcept { return stop_.get_token(); }
  [[nodiscard]] master::Workers& workers() noexcept { return workers_; }
  [[nodiscard]] std::string next_jid() { return jids_.next(); }

  void join_event_bus() override { static_cast<void>(bus()); }
  Result<void> check_event_bus() override;
  Result<void> ping_master(SteadyTime deadline) override;
  [[nodiscard]] RequestStatistics statistics() const override { return requests_->statistics(); }
  std::size_t shutdown(SteadyTime deadline) override;

 private:
  // The threads of asynchronous wheels share the ownership of the RequestPool.
  std::shared_ptr<RequestPool> requests_;
  const std::shared_ptr<master::EventLog> events_;
  const BusOptions bus_options_;
  Mutex bus_mutex_;
  std::unique_ptr<EventBus> bus_ GUARDED_BY(bus_mutex_);
  EventPusher pusher_;
  std::stop_source stop_;
  master::JidSource jids_;
  // The threads of asynchronous wheels use the other members, so `workers_` is destroyed before the other
  // members.
  master::Workers workers_;
};

}  // namespace rest_fcgi::salt

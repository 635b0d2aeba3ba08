// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>

#include "master/salt/events/bus_log.h"
#include "master/salt/events/event.h"
#include "master/salt/events/event_socket.h"
#include "master/salt/events/listener_table.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::salt {

/// The process's only subscription to the master's event bus, with a thread that reads the bus. Passes each
/// event to the listener of its job and to `log`. Reports each loss of the bus to the listeners and to `log`.
/// Joins the bus again after a loss. Thread-safe.
class EventBus {
 public:
  using Expectation = ListenerTable::Expectation;

  /// Starts the thread that joins the bus. Fails with `internal`.
  static Result<std::unique_ptr<EventBus>> start(BusOptions options, std::shared_ptr<master::EventLog> log);
  EventBus(const EventBus&) = delete;
  EventBus& operator=(const EventBus&) = delete;
  ~EventBus();

  /// Stops the thread. Tells the remaining listeners that the service stops. REQUIRES: one thread calls this
  /// function.
  void stop();

  /// Waits until this process has joined the event bus, at most for half a second, and not after `deadline`.
  /// Fails with `unavailable`. The error has Salt's message, or the name of the missing permission.
  Result<void> wait_until_joined(SteadyTime deadline);

  /// Prepares for the events of a job. `jid` is empty if the job id is unknown. If the master has replaced
  /// its socket, waits up to half a second for the new connection. Fails with `unavailable`. REQUIRES: the
  /// job is not started yet.
  Result<Expectation> expect(std::string_view jid = {});

 private:
  EventBus(BusOptions options, std::shared_ptr<master::EventLog> log);

  void run();
  void join_and_read();
  void serve(EventSocket& socket);
  /// Reads events until the thread has to stop. Fails with the reason if the connection is lost.
  Result<void> read_until_lost(EventSocket& socket);
  void tell_refused(const Error& why);
  void pause(std::chrono::milliseconds time) const;
  /// Returns whether another master has replaced the master of this connection; see `is_replaced`.
  [[nodiscard]] bool is_orphaned();
  void set_file(const std::optional<FileIdentity>& file);

  const BusOptions options_;
  ListenerTable registry_;
  const UniqueFd wake_;  // The eventfd that wakes the thread, to stop or to check its connection.
  std::atomic<bool> stopping_ = false;
  Mutex file_mutex_;
  // `file_` identifies the file of the connected socket.
  std::optional<FileIdentity> file_ GUARDED_BY(file_mutex_);

  // Only the thread of the bus uses the following members.
  BusLog log_;
  std::optional<ErrorKind> not_joined_;  // The last logged reason why the bus is not joined.
  std::chrono::steady_clock::time_point sweep_due_;

  Thread thread_;
};

}  // namespace rest_fcgi::salt

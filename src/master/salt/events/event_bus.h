// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "master/salt/events/bus_log.h"
#include "master/salt/events/event.h"
#include "master/salt/events/event_socket.h"
#include "master/salt/events/registry.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::salt {

/// The only subscription of this process to the master's event bus, with a thread that reads the bus. Passes
/// each event to the listener of its job and to `log`. If events may be missing, tells both. Joins the bus
/// again when the connection is lost, and logs the loss and the new connection. Thread-safe.
class EventBus {
 public:
  using Expectation = Registry::Expectation;

  /// Starts the thread that joins the bus. Errors: internal, if the thread cannot be started.
  static Result<std::unique_ptr<EventBus>> start(BusOptions options, std::shared_ptr<master::EventLog> log);
  EventBus(const EventBus&) = delete;
  EventBus& operator=(const EventBus&) = delete;
  /// Stops the thread. The remaining listeners are told that the bus is lost.
  ~EventBus();

  /// Waits until the bus is joined, but at most until `deadline` and at most half a second. Errors:
  /// unavailable, with Salt's message for a master that does not run, or with the missing permission.
  [[nodiscard]] Result<void> wait_until_joined(SteadyTime deadline);

  /// Prepares for the events of a job. Called before the job is started. `jid` is the job id if it is already
  /// known. If the socket was replaced since the bus was joined, waits up to half a second for the new
  /// socket. Errors: unavailable, with the reasons of `wait_until_joined`, for too many jobs, and if another
  /// call waits for this job.
  [[nodiscard]] Result<Expectation> expect(std::string_view jid = {});

 private:
  EventBus(BusOptions options, std::shared_ptr<master::EventLog> log);

  void run();
  void join_and_read();
  void serve(EventSocket& socket);
  /// Reads events until the thread has to stop. Errors: the reason for a lost connection.
  [[nodiscard]] Result<void> read_until_lost(EventSocket& socket);
  [[nodiscard]] Result<void> handle_events(FrameReader& reader);
  void tell_refused(const Error& why);
  void tell_joined();
  void tell_lost();
  void pause(std::chrono::milliseconds time) const;
  /// Returns whether the connection goes to a process that an earlier master left behind. See `is_replaced`.
  [[nodiscard]] bool is_orphaned();
  void set_file(const std::optional<SocketFile>& file);

  const BusOptions options_;
  Registry registry_;
  const UniqueFd wake_;  // An eventfd. It is readable if the thread has to stop or to check its connection.
  std::atomic<bool> stopping_ = false;
  std::mutex file_mutex_;
  std::optional<SocketFile> file_;  // The file of the joined socket; guarded by file_mutex_.

  // Only the thread uses the members from here on.
  BusLog log_;
  std::optional<ErrorKind> not_joined_;  // The last logged reason why the bus is not joined.
  std::chrono::steady_clock::time_point sweep_due_;

  Thread thread_;
};

}  // namespace rest_fcgi::salt

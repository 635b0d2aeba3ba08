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

/// The one subscription of this process to the master's event bus, and the one thread that reads it, as fast
/// as it can. It hands each event to the listener of its job and to `log`, and says there when events may
/// have been missed. It joins the bus again whenever that is lost, as long as it lives, and writes when that
/// begins and ends. Thread-safe.
class EventBus {
 public:
  using Expectation = Registry::Expectation;

  /// Starts the thread, which joins the bus at once. Errors: internal, where no thread can be had.
  static Result<std::unique_ptr<EventBus>> start(BusOptions options, std::shared_ptr<master::EventLog> log);
  EventBus(const EventBus&) = delete;
  EventBus& operator=(const EventBus&) = delete;
  /// Ends the thread. Who still listens is told that the bus is lost.
  ~EventBus();

  /// Waits for the bus to be joined, until `deadline` and at most half a second. Errors: unavailable, Salt's
  /// sentence for a master that is not there, or which permission is missing.
  [[nodiscard]] Result<void> wait_until_joined(SteadyTime deadline);

  /// To be made before what starts a job is sent. `jid`: the job's, where that is known already. Where the
  /// bus was joined at a socket that another one has replaced since, it waits until that one is joined, half
  /// a second at most. Errors: unavailable, as above; also where too many jobs are listened to, or another
  /// call has that job.
  [[nodiscard]] Result<Expectation> expect(std::string_view jid = {});

 private:
  EventBus(BusOptions options, std::shared_ptr<master::EventLog> log);

  void run();
  void join_and_read();
  void serve(EventSocket& socket);
  /// Errors: why it is lost. Else the thread shall end.
  [[nodiscard]] Result<void> read_until_lost(EventSocket& socket);
  [[nodiscard]] Result<void> hear_all(FrameReader& reader);
  void tell_refused(const Error& why);
  void tell_joined();
  void tell_lost();
  void pause(std::chrono::milliseconds time) const;
  /// Does the connection go to what an earlier master left behind? See `is_replaced`.
  [[nodiscard]] bool is_orphaned();
  void set_file(const std::optional<SocketFile>& file);

  const BusOptions options_;
  Registry registry_;
  const UniqueFd wake_;  // readable once the thread shall end, or look at its connection
  std::atomic<bool> stopping_ = false;
  std::mutex file_mutex_;
  std::optional<SocketFile> file_;  // of the socket that was joined; guarded by file_mutex_

  // The thread's own:
  BusLog log_;
  std::optional<ErrorKind> not_joined_;  // why it is not, as the log knows it
  bool owes_loss_ = false;               // it was joined: who listens has to be told when that is over
  std::chrono::steady_clock::time_point sweep_due_;

  Thread thread_;
};

}  // namespace rest_fcgi::salt

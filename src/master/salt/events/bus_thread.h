// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <optional>

#include "master/salt/events/bus_options.h"
#include "master/salt/events/event_socket.h"
#include "master/salt/events/frame_reader.h"
#include "master/salt/events/registry.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::salt {

/// The thread that joins the master's event bus, reads it as fast as it can, and tells the registry. It joins
/// again whenever the bus is lost, and says in the log when that begins and ends. No signal comes to it.
class BusThread {
 public:
  /// Starts the thread, and throws where none can be had. `registry` outlives it.
  BusThread(BusOptions options, Registry& registry);
  ~BusThread() { stop(); }
  BusThread(const BusThread&) = delete;
  BusThread& operator=(const BusThread&) = delete;

  /// Comes back when the thread has ended.
  void stop();

 private:
  void run();
  void serve(EventSocket& socket);
  /// Errors: why it is lost. Else the thread shall end.
  [[nodiscard]] Result<void> read_until_lost(EventSocket& socket);
  [[nodiscard]] Result<void> hear_all(FrameReader& reader);
  void tell_too_large(const Event& event) const;
  void tell_refused(const Error& why);
  void tell_joined();
  void pause(std::chrono::milliseconds time) const;

  const BusOptions options_;
  Registry& registry_;
  const UniqueFd stop_;  // readable once the thread shall end
  std::atomic<bool> stopping_ = false;

  // The thread's own:
  std::optional<ErrorKind> told_;  // why it is not joined, as the log knows it
  std::chrono::steady_clock::time_point sweep_due_;

  Thread thread_;
};

}  // namespace rest_fcgi::salt

// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "rest_fcgi/config/config.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::engine {

/// Sends lines such as `READY=1` to systemd (sd_notify(3)), if NOTIFY_SOCKET is set.
void notify_systemd(const std::string& lines);

/// Tells systemd's watchdog (`WatchdogSec=`) from the store's thread that this process works. If this thread
/// hangs, systemd restarts the service.
class Watchdog {
 public:
  /// Starts to send messages to systemd's watchdog. `store` must outlive the Watchdog.
  explicit Watchdog(store::Store& store);

 private:
  std::chrono::steady_clock::time_point sent_{};
  store::Store::Registration ticks_;
};

/// The reply of the running service to `GET /ready`.
struct Readiness {
  bool is_ready = false;
  std::string text;  ///< The reply's body, a JSON object.
};

/// Sends `GET /ready` to the service's metrics port. Errors: unavailable, if the service does not answer.
[[nodiscard]] Result<Readiness> ask_readiness(const gateway::HttpOptions& port);

}  // namespace rest_fcgi::engine

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

/// Messages from this process to systemd, and from `--health` to the service.
namespace rest_fcgi::engine {

/// Sends lines such as `READY=1` to systemd (sd_notify(3)). Does nothing if NOTIFY_SOCKET is not set.
void notify_systemd(const std::string& lines);

/// Tells systemd's watchdog (`WatchdogSec=`) that this process works. The messages are sent from the store's
/// thread, which all components use. If this thread hangs, the messages stop, and systemd restarts the
/// service. Does nothing without a watchdog.
class Watchdog {
 public:
  /// Starts the messages. `store` must outlive the Watchdog.
  explicit Watchdog(store::Store& store);

 private:
  std::chrono::steady_clock::time_point sent_{};
  store::Store::Registration ticks_;
};

/// The reply of the running service to `GET /ready`.
struct Readiness {
  bool is_ready = false;
  std::string text;  ///< the reply's body, a JSON object
};

/// Sends `GET /ready` to the service on its port `rest_fcgi: metrics: listen`. Errors: unavailable, if the
/// service does not answer.
[[nodiscard]] Result<Readiness> ask_readiness(const gateway::HttpOptions& port);

}  // namespace rest_fcgi::engine

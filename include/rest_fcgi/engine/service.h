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

/// The messages between this process, the service manager and `--health`.
namespace rest_fcgi::engine {

/// Sends lines such as `READY=1` to systemd (sd_notify(3)). Does nothing without systemd.
void notify_systemd(const std::string& lines);

/// Tells systemd's watchdog (`WatchdogSec=`) that the process works: as long as the store's thread, which all
/// components use, runs its tasks. Does nothing without a watchdog.
class Watchdog {
 public:
  /// `store` has to outlive this.
  explicit Watchdog(store::Store& store);

 private:
  std::chrono::steady_clock::time_point sent_{};
  store::Store::Registration ticks_;
};

/// The reply to `GET /ready`.
struct Readiness {
  bool is_ready = false;
  std::string text;  ///< a JSON object
};

/// Asks the service on the port of `rest_fcgi: metrics: listen`. Errors: unavailable.
[[nodiscard]] Result<Readiness> ask_readiness(const gateway::HttpOptions& port);

}  // namespace rest_fcgi::engine

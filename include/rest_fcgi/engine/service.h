// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <string>

#include "rest_fcgi/config/config.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/metrics/health.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::engine {

/// Returns whether NOTIFY_SOCKET is set, so that a service manager such as systemd gets messages.
[[nodiscard]] bool has_service_manager();

/// Sends lines such as `READY=1` to systemd (sd_notify(3)), if NOTIFY_SOCKET is set. Thread-safe.
void notify_systemd(const std::string& lines);

/// Makes `notify_systemd` do nothing from now on.
void end_notifications() noexcept;

/// Shows in `systemctl status` what `/ready` says. Runs the checks every five seconds, if a service manager
/// gets messages. Thread-safe.
class StatusLine {
 public:
  /// REQUIRES: `health` outlives this object.
  explicit StatusLine(metrics::Health& health);
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  /// Adds a note to the line, for example about a failed reload. An empty text removes the note.
  void note(std::string text);

  /// Ends the changes of the line. Does not wait for a running check; the destructor does.
  void end();

 private:
  void run();
  void show() REQUIRES(mutex_);

  metrics::Health& health_;
  Mutex mutex_;
  std::condition_variable changed_;
  std::string readiness_ GUARDED_BY(mutex_);
  std::string note_ GUARDED_BY(mutex_);
  bool is_stopping_ GUARDED_BY(mutex_) = false;
  Thread thread_;
};

/// Tells the process that waits in `request_reload` how the reload ended. Does nothing without such a
/// process.
void report_reload(const Result<void>& ended);

/// Makes the service with the process id $MAINPID reload its configuration, and waits for the end of the
/// reload. The two processes share the folder $STATE_DIRECTORY. Errors: configuration, with the service's
/// reason; unavailable, if the service does not answer.
Result<void> request_reload();

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
Result<Readiness> ask_readiness(const gateway::HttpOptions& port);

}  // namespace rest_fcgi::engine

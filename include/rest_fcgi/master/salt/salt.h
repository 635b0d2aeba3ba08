// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "rest_fcgi/auth/logins.h"
#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/jid.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/master/salt/options.h"

/// The engine `salt`: calls a real master of Salt 3006, 3007 or 3008 and its minions over ZeroMQ.
namespace rest_fcgi::salt {

/// The numbers of connections and requests to the master's `ret_port`, for metrics.
struct RequestStatistics {
  std::size_t busy = 0;     ///< `busy` counts the connections with a running request.
  std::size_t idle = 0;     ///< `idle` counts the connections that are kept for the next request.
  std::size_t waiting = 0;  ///< `waiting` counts the requests that wait for a connection.
};

/// The state of the engine `salt` that outlives a reload of the configuration. Thread-safe.
class Runtime {
 public:
  virtual ~Runtime() = default;

  /// Joins the master's event bus in the background, and tries again until it succeeds. Without this call,
  /// rest_fcgi joins the event bus at the first request that waits for minions.
  virtual void join_event_bus() = 0;

  /// Checks that the process has joined the event bus. Fails with `unavailable`.
  virtual Result<void> check_event_bus() = 0;

  /// Sends a message without effect to the master and waits for the reply. Fails with `unavailable` or
  /// `timeout`.
  virtual Result<void> ping_master(SteadyTime deadline) = 0;

  [[nodiscard]] virtual RequestStatistics statistics() const = 0;

  /// Refuses new asynchronous wheels, and waits for running wheels until `deadline`. Then ends all waits for
  /// the master with `unavailable`; jobs of the master go on. Returns 0 if all wheels have ended, and
  /// otherwise 1. After the result 1, the caller must not destroy the Runtime, because running wheels use it.
  /// REQUIRES: `shutdown` is called only once.
  virtual std::size_t shutdown(SteadyTime deadline) = 0;
};

/// Makes a runtime without connecting to the master. Fails with `configuration` for a malformed address, or
/// with `internal`.
Result<std::shared_ptr<Runtime>> make_runtime(const Options& options, const Clock& clock,
                                              master::JidReserve reserve_jids = nullptr);

/// Describes whether this process can join the event bus. If a permission is missing, the text names it.
/// Waits at most a second.
[[nodiscard]] std::string describe_event_bus(const Options& options);

/// Describes whether this process can fire events. If a permission is missing, the text names it.
[[nodiscard]] std::string describe_event_firing(const Options& options);

/// Makes a master that uses `runtime`. `permissions` has the rules of the master's `external_auth`, because
/// this program checks some calls more strictly than the master.
Result<std::shared_ptr<master::Master>> make_master(const Options& options,
                                                    std::unique_ptr<auth::Logins> logins,
                                                    std::unique_ptr<auth::Permissions> permissions,
                                                    std::shared_ptr<Runtime> runtime);

}  // namespace rest_fcgi::salt

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

/// The engine `salt`: a real master of Salt 3006, 3007 or 3008 and its minions, over ZeroMQ.
namespace rest_fcgi::salt {

/// What survives a reload of the configuration: the subscription to the event bus and the connections.
/// Thread-safe.
class Runtime {
 public:
  virtual ~Runtime() = default;

  /// Joins the event bus in the background, and retries while the master does not run. Without this call, the
  /// first request that waits for returns joins the bus.
  virtual void join_event_bus() = 0;

  /// Returns whether the event bus is joined. Errors: unavailable.
  [[nodiscard]] virtual Result<void> check_event_bus() = 0;

  /// Sends the master a message that does nothing, and waits for the reply. Errors: unavailable; timeout.
  [[nodiscard]] virtual Result<void> ping_master(SteadyTime deadline) = 0;

  /// Stops accepting asynchronous work and waits for running work until `deadline`. Returns 0 if all has
  /// ended. Otherwise its threads still use this object, which must not be destroyed. Called once.
  virtual std::size_t shutdown(SteadyTime deadline) = 0;
};

/// Makes a runtime without connecting. Errors: configuration, for a malformed address; internal.
[[nodiscard]] Result<std::shared_ptr<Runtime>> make_runtime(const Options& options, const Clock& clock,
                                                            master::JidReserve reserve_jids = nullptr);

/// Returns whether this process's user can join the event bus and, if not, which permission is missing.
/// Connects once, for at most a second.
[[nodiscard]] std::string describe_event_bus(const Options& options);

/// Returns the same for firing events, which hooks do.
[[nodiscard]] std::string describe_event_firing(const Options& options);

/// Makes a master with `runtime`, which all masters of a process share. `permissions` are the rules of the
/// master's `external_auth`, for checks that the master itself does less strictly.
[[nodiscard]] Result<std::shared_ptr<master::Master>> make_master(
    const Options& options, std::unique_ptr<auth::Logins> logins,
    std::unique_ptr<auth::Permissions> permissions, std::shared_ptr<Runtime> runtime);

}  // namespace rest_fcgi::salt

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

/// The parts of the engine that outlive a reload of the configuration: the subscription to the event bus, and
/// the connections to the master. Thread-safe.
class Runtime {
 public:
  virtual ~Runtime() = default;

  /// Joins the master's event bus in the background. If the master does not run, this is tried again until it
  /// succeeds. Without a call of this function, the first request that waits for returns joins the event bus.
  virtual void join_event_bus() = 0;

  /// Checks that this process has joined the event bus. Errors: unavailable, if it has not.
  [[nodiscard]] virtual Result<void> check_event_bus() = 0;

  /// Checks that the master answers: sends a message without effect and waits for the reply. Errors:
  /// unavailable; timeout.
  [[nodiscard]] virtual Result<void> ping_master(SteadyTime deadline) = 0;

  /// Refuses new asynchronous work, and waits until the running work has ended or until `deadline`. Returns
  /// how much work has not ended. If this is not 0, threads still use the Runtime, and it must not be
  /// destroyed. Call `shutdown` once.
  virtual std::size_t shutdown(SteadyTime deadline) = 0;
};

/// Makes a runtime without connecting to the master. Errors: configuration, for a malformed address;
/// internal.
[[nodiscard]] Result<std::shared_ptr<Runtime>> make_runtime(const Options& options, const Clock& clock,
                                                            master::JidReserve reserve_jids = nullptr);

/// Returns a text that says whether this process can join the event bus, and if not, which permission is
/// missing. Connects to the event bus once, for at most a second.
[[nodiscard]] std::string describe_event_bus(const Options& options);

/// Returns a text that says whether this process can fire events on the event bus, and if not, which
/// permission is missing. Requests to `/hook` fire events.
[[nodiscard]] std::string describe_event_firing(const Options& options);

/// Makes a master that uses `runtime`. All masters of a process share one runtime. `permissions` are the
/// rules of the master's `external_auth`. They are needed for checks that the master itself does less
/// strictly.
[[nodiscard]] Result<std::shared_ptr<master::Master>> make_master(
    const Options& options, std::unique_ptr<auth::Logins> logins,
    std::unique_ptr<auth::Permissions> permissions, std::shared_ptr<Runtime> runtime);

}  // namespace rest_fcgi::salt

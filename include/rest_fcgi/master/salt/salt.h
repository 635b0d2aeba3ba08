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

/// The engine `salt`: a real master of the lines 3006, 3007 or 3008 and all its minions, over ZeroMQ.
namespace rest_fcgi::salt {

/// What outlives a reload of the configuration: the subscription to the event bus, the kept connections.
/// Thread-safe.
class Runtime {
 public:
  virtual ~Runtime() = default;

  /// Joins the event bus in the background, and stays: else that begins with the first call that waits for
  /// returns. A master that is not there is waited for, and no failure.
  virtual void join_event_bus() = 0;

  /// Takes no more asynchronous work and waits until `deadline` for what is under way. Returns 0 where all of
  /// it had ended then; else its threads still use this, which must not go before them. Call once, before the
  /// last reference goes.
  virtual std::size_t shutdown(SteadyTime deadline) = 0;
};

/// Connects to nothing yet. Errors: configuration, for an address that is none; internal.
[[nodiscard]] Result<std::shared_ptr<Runtime>> make_runtime(const Options& options, const Clock& clock,
                                                            master::JidReserve reserve_jids = nullptr);

/// Whether this process's user can join the master's event bus now; where not, why, and what it needs. For
/// administrators. Connects once and lets go again, on this thread, within a second.
[[nodiscard]] std::string describe_event_bus(const Options& options);

/// The same for events of our own, which hooks are.
[[nodiscard]] std::string describe_event_firing(const Options& options);

/// A master over `runtime`, which all masters of one process share. `permissions` are the rules of the
/// master's own `external_auth`, for what is checked here because the master would check it less strictly.
[[nodiscard]] Result<std::shared_ptr<master::Master>> make_master(
    const Options& options, std::unique_ptr<auth::Logins> logins,
    std::unique_ptr<auth::Permissions> permissions, std::shared_ptr<Runtime> runtime);

}  // namespace rest_fcgi::salt

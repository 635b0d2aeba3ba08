// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "rest_fcgi/auth/logins.h"
#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/events.h"
#include "rest_fcgi/master/jid.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/master/salt/options.h"
#include "rest_fcgi/master/workers.h"

/// The engine `salt`: calls a real master of Salt 3006, 3007 or 3008 and its minions over ZeroMQ.
namespace rest_fcgi::salt {

/// The numbers of connections and requests to the master's `ret_port`, for metrics.
struct RequestStatistics {
  std::size_t busy = 0;     ///< `busy` counts the connections with a running request.
  std::size_t idle = 0;     ///< `idle` counts the connections that are kept for the next request.
  std::size_t waiting = 0;  ///< `waiting` counts the requests that wait for a connection.
};

class EventBus;
class EventPusher;
class RequestPool;

/// The state of the engine `salt` that outlives a reload of the configuration. Each member is thread-safe and
/// is called without a lock of another member. Threads of requests use all members and may block. One thread
/// reads the event bus (`EventBus`). Two threads of ZeroMQ serve `ret_port` (`RequestPool`). Up to two
/// threads run asynchronous wheels (`Workers`).
class Runtime {
 public:
  Runtime(std::unique_ptr<RequestPool> requests, const Options& options, const Clock& clock,
          master::JidReserve reserve_jids);
  ~Runtime();

  /// Joins the master's event bus in the background, and tries again until it succeeds. Without this call,
  /// rest_fcgi joins the event bus at the first request that waits for minions.
  void join_event_bus() { static_cast<void>(bus()); }

  /// Checks that the process has joined the event bus. Fails with `unavailable`.
  Result<void> check_event_bus();

  /// Sends a message without effect to the master and waits for the reply. Fails with `unavailable` or
  /// `timeout`.
  Result<void> ping_master(SteadyTime deadline);

  [[nodiscard]] RequestStatistics statistics() const;

  /// Returns the minions whose keys the master has accepted: the names of the files in `minions/` of
  /// `pki_dir`, as Salt's CkMinions reads them. Logs a warning if the folder cannot be read.
  [[nodiscard]] std::vector<std::string> accepted_minions() const;

  /// Refuses new asynchronous wheels, and waits for running wheels until `deadline`. Then ends all waits for
  /// the master with `unavailable`; jobs of the master go on. Returns 0 if all wheels have ended, and
  /// otherwise 1. After the result 1, the caller must not destroy the Runtime, because running wheels use it.
  /// REQUIRES: `shutdown` is called only once.
  std::size_t shutdown(SteadyTime deadline);

  // The masters of this runtime use the following members.
  [[nodiscard]] const std::shared_ptr<RequestPool>& requests() const noexcept { return requests_; }
  /// The first call starts the event bus. Fails with `internal`.
  Result<EventBus*> bus();
  [[nodiscard]] const std::shared_ptr<master::EventLog>& events() const noexcept { return events_; }
  [[nodiscard]] EventPusher& pusher() noexcept { return *pusher_; }
  /// A stop of this token asks the programs of the client `ssh` to end.
  [[nodiscard]] std::stop_token stop_token() const noexcept { return stop_.get_token(); }
  [[nodiscard]] master::Workers& workers() noexcept { return workers_; }
  [[nodiscard]] std::string next_jid() { return jids_.next(); }

 private:
  // The threads of asynchronous wheels share the ownership of the RequestPool.
  const std::shared_ptr<RequestPool> requests_;
  const std::shared_ptr<master::EventLog> events_;
  const Options options_;
  Mutex bus_mutex_;
  std::unique_ptr<EventBus> bus_ GUARDED_BY(bus_mutex_);
  const std::unique_ptr<EventPusher> pusher_;
  std::stop_source stop_;
  master::JidSource jids_;
  // The threads of asynchronous wheels use the other members, so `workers_` is destroyed before the other
  // members.
  master::Workers workers_;
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

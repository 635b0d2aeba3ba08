// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include <zmq.hpp>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::salt {

/// One TCP connection to a master's `ret_port`. It is a DEALER socket that sends and receives `["", body]`,
/// one request at a time. The connection never reconnects, so no message can reach a restarted master. The
/// owner must destroy the connection after any failure. Not synchronized.
class MasterConnection {
 public:
  struct Options {
    /// The address `tcp://HOST:PORT`. HOST is an IPv4 address, a host name, or an IPv6 address in brackets.
    std::string uri;
    std::size_t max_answer_size = 0;  ///< The largest reply in bytes; a larger reply closes the connection.
  };

  /// Starts to connect. `context` must outlive the connection. Fails with `configuration` for a malformed
  /// uri, with `unavailable` if no file descriptor is free, or with `internal` if no ZeroMQ socket is free.
  static Result<std::unique_ptr<MasterConnection>> make(zmq::context_t& context, const Options& options);
  ~MasterConnection();
  MasterConnection(const MasterConnection&) = delete;
  MasterConnection& operator=(const MasterConnection&) = delete;

  enum class Opening {
    open,
    unreachable,  ///< `unreachable` means that TCP did not connect, or that the connection broke.
    silent,       ///< `silent` means that TCP connected, but the master sent no greeting of ZeroMQ in time.
  };

  /// Waits until the connection is established: until `reachable_by` for TCP, and until `until` for ZeroMQ's
  /// greeting. A master that stands still is reachable, because its kernel accepts TCP connections.
  Opening wait_until_open(SteadyTime reachable_by, SteadyTime until);

  /// Returns whether the next request can be sent. Closes the connection after unexpected bytes, because they
  /// could be taken for the next reply.
  bool is_open();

  /// Sends a message. Fails with `unavailable` if the connection is closed. After an error nothing was sent.
  Result<void> send(const std::string& message);

  /// Waits for the reply. May be called again after a timeout. Fails with `unavailable`, `timeout`, or
  /// `internal` for a reply that is not `["", body]`.
  Result<std::string> receive(SteadyTime deadline);

 private:
  enum class Seen { ready, broken, time_up };

  explicit MasterConnection(zmq::socket_t socket) : socket_(std::move(socket)) {}
  Seen wait(short events, SteadyTime until);
  bool read_monitor();

  zmq::socket_t monitor_;  ///< The socket that gets an event when TCP connects, and when the connection ends.
  zmq::socket_t socket_;
  bool is_reachable_ = false;  ///< `is_reachable_` says whether TCP has connected.
};

/// Returns the error for a master that does not run. The error says that nothing was sent.
Error master_not_available();

/// Checks that `uri` is `tcp://HOST:PORT`, with IPv6 addresses in brackets. ZeroMQ notices some mistakes only
/// when it connects. Fails with `configuration`.
Result<void> check_endpoint(std::string_view uri);

/// Remembers that the master cannot be reached. During an outage only one request at a time tries to connect,
/// and all other requests fail immediately. Thread-safe.
class Outage {
 public:
  /// The pause after a failed connection. Requests in this pause fail immediately, even if the master runs
  /// again.
  static constexpr std::chrono::milliseconds kPause{100};

  explicit Outage(std::chrono::milliseconds connect_timeout) : connect_timeout_(connect_timeout) {}

  /// Returns whether the caller may try to connect. The caller must report the result with `failed` or
  /// `succeeded`. Without a report, another caller may try after `connect_timeout` and `kPause`.
  bool may_try(SteadyTime now) {
    const MutexLock lock(mutex_);
    if (!away_) return true;
    if (now < next_try_) return false;
    next_try_ = now + connect_timeout_ + kPause;
    return true;
  }

  void failed(SteadyTime now) {
    const MutexLock lock(mutex_);
    away_ = true;
    next_try_ = now + kPause;
  }

  void succeeded() {
    const MutexLock lock(mutex_);
    away_ = false;
  }

 private:
  const std::chrono::milliseconds connect_timeout_;
  Mutex mutex_;
  bool away_ GUARDED_BY(mutex_) = false;
  SteadyTime next_try_ GUARDED_BY(mutex_);
};

/// `take` returns the newest connection, so that surplus connections become old and are closed. Thread-safe.
class IdleConnections {
 public:
  /// The age at which `put` closes a connection.
  static constexpr std::chrono::seconds kMaxAge{60};

  std::unique_ptr<MasterConnection> take();

  void put(std::unique_ptr<MasterConnection> connection, SteadyTime now);

  [[nodiscard]] std::size_t size() const;

 private:
  struct Kept {
    std::unique_ptr<MasterConnection> connection;
    SteadyTime since;
  };

  mutable Mutex mutex_;
  std::deque<Kept> kept_ GUARDED_BY(mutex_);  ///< The connections, sorted by age. The oldest is in front.
};

}  // namespace rest_fcgi::salt

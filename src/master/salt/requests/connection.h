// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <zmq.hpp>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::salt {

/// One TCP connection to a master's `ret_port`. It is a DEALER socket that sends `["", body]` and receives
/// `["", body]`, with one request at a time. The connection never reconnects, so that a message for a master
/// that has stopped cannot reach the next master. The owner destroys the connection after any failure.
///
/// Messages are wiped, apart from the copies in the buffers of ZeroMQ and the kernel. Not synchronized. May
/// move between threads under a mutex.
class Connection {
 public:
  struct Options {
    /// `tcp://HOST:PORT`. HOST is an IPv4 address, a host name, or an IPv6 address in brackets.
    std::string uri;
    std::size_t max_answer_size = 0;  ///< The largest reply in bytes. A larger reply closes the connection.
  };

  /// Starts to connect. `context` must outlive the connection. Errors: configuration, for a malformed uri;
  /// unavailable, if there are no free file descriptors; internal, if ZeroMQ has no free sockets.
  static Result<std::unique_ptr<Connection>> make(zmq::context_t& context, const Options& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Waits until the connection is established. Returns false on failure or timeout.
  bool wait_until_open(SteadyTime until);

  /// Returns whether the next request can be sent. The connection must be open, and no unexpected bytes may
  /// have come. Such bytes would be taken for the reply to the next request.
  bool is_open();

  /// Sends a message. Errors: unavailable, if the connection is closed. Nothing was sent in this case.
  Result<void> send(WipedBytes message);

  /// Waits for the reply. May be called again after a timeout. Errors: unavailable, if the connection is
  /// lost; timeout; internal, for a reply that is not `["", body]`.
  Result<WipedBytes> receive(SteadyTime deadline);

 private:
  enum class Seen { ready, broken, time_up };

  explicit Connection(zmq::socket_t socket) : socket_(std::move(socket)) {}
  Seen wait(short events, SteadyTime until);
  bool send_frames(WipedBytes message);
  Result<WipedBytes> receive_frames();

  zmq::socket_t monitor_;  ///< Receives the events that end the connection.
  zmq::socket_t socket_;
};

/// Returns the error for a master that does not run. The error says that nothing was sent.
Error master_not_available();

/// Checks that `uri` is `tcp://HOST:PORT`, with IPv6 addresses in brackets. The check is needed because
/// ZeroMQ accepts other forms, and notices some mistakes only when it connects. Errors: configuration.
Result<void> check_endpoint(std::string_view uri);

/// Remembers that the master cannot be reached. As long as this is so, only one request at a time tries to
/// connect. The other requests fail at once, and do not wait for `connect_timeout`. Thread-safe.
class Outage {
 public:
  /// The delay after a failed attempt. It is short, since requests in this time fail even if the master runs
  /// again.
  static constexpr std::chrono::milliseconds kPause{100};

  explicit Outage(std::chrono::milliseconds connect_timeout) : connect_timeout_(connect_timeout) {}

  /// Returns whether the caller may try to connect. If so, the caller has to report the result with `failed`
  /// or `succeeded`. If the caller reports no result, other callers may try after `connect_timeout` and a
  /// delay.
  bool may_try(SteadyTime now) {
    const std::scoped_lock lock(mutex_);
    if (!away_) return true;
    if (now < next_try_) return false;
    next_try_ = now + connect_timeout_ + kPause;
    return true;
  }

  void failed(SteadyTime now) {
    const std::scoped_lock lock(mutex_);
    away_ = true;
    next_try_ = now + kPause;
  }

  void succeeded() {
    const std::scoped_lock lock(mutex_);
    away_ = false;
  }

 private:
  const std::chrono::milliseconds connect_timeout_;
  std::mutex mutex_;
  bool away_ = false;
  SteadyTime next_try_;
};

/// Keeps the connections that are not in use. The connection that was used last is taken first, so that
/// surplus connections become old. Thread-safe. Its mutex synchronizes connections between threads.
class IdleConnections {
 public:
  /// At this age a connection is closed by the next `put`.
  static constexpr std::chrono::seconds kMaxAge{60};

  /// Returns a connection; null if there is none.
  std::unique_ptr<Connection> take();

  void put(std::unique_ptr<Connection> connection, SteadyTime now);

  [[nodiscard]] std::size_t size() const;

 private:
  struct Kept {
    std::unique_ptr<Connection> connection;
    SteadyTime since;
  };

  mutable std::mutex mutex_;
  std::deque<Kept> kept_;  ///< The oldest connection comes first.
};

}  // namespace rest_fcgi::salt

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

/// One TCP connection to a master's `ret_port`: a DEALER that sends `["", body]` and receives `["", body]`,
/// one request at a time. It never reconnects, so that a message for a master that has stopped cannot reach
/// the next one. The owner destroys it after any failure.
///
/// Messages are wiped, apart from copies in buffers of ZeroMQ and the kernel. Not synchronized; may move
/// between threads under a mutex.
class Connection {
 public:
  struct Options {
    std::string uri;                  ///< `tcp://HOST:PORT`; HOST is an address or name, `[...]` for IPv6
    std::size_t max_answer_size = 0;  ///< bytes; a larger reply closes the connection
  };

  /// Starts to connect. `context` must outlive the connection. Errors: configuration, for a malformed uri;
  /// unavailable, without free file descriptors; internal, without free ZeroMQ sockets.
  static Result<std::unique_ptr<Connection>> make(zmq::context_t& context, const Options& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Waits until the connection is established. Returns false on failure or timeout.
  bool wait_until_open(SteadyTime until);

  /// Returns whether the next request can be sent: the connection is open, and no unexpected bytes came,
  /// which would be taken for the reply to that request.
  bool is_open();

  /// Sends a message. Errors: unavailable, if the connection is closed; nothing was sent then.
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

  zmq::socket_t monitor_;  ///< receives the end of the connection
  zmq::socket_t socket_;
};

/// Returns the error for a master that does not run; nothing was sent.
Error master_not_available();

/// Checks that `uri` is `tcp://HOST:PORT`, with IPv6 addresses in brackets. ZeroMQ accepts other forms, and
/// ignores some mistakes until it connects. Errors: configuration.
Result<void> check_endpoint(std::string_view uri);

/// Remembers that the master cannot be reached. Then only one request at a time tries to connect, and the
/// others fail without waiting for `connect_timeout`. Thread-safe.
class Outage {
 public:
  /// Delay after a failed attempt. Short, since requests during this time fail even if the master is back.
  static constexpr std::chrono::milliseconds kPause{100};

  explicit Outage(std::chrono::milliseconds connect_timeout) : connect_timeout_(connect_timeout) {}

  /// Returns whether the caller may try to connect. If so, the caller has to report the result. Without a
  /// result, others may try after `connect_timeout` and a delay.
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

/// The connections that are not in use. The latest ones are used first, so that surplus connections become
/// old. Thread-safe; its mutex synchronizes connections between threads.
class IdleConnections {
 public:
  /// Age at which a connection is closed by the next `put`.
  static constexpr std::chrono::seconds kMaxAge{60};

  /// Returns null if there is none.
  std::unique_ptr<Connection> take();

  void put(std::unique_ptr<Connection> connection, SteadyTime now);

  [[nodiscard]] std::size_t size() const;

 private:
  struct Kept {
    std::unique_ptr<Connection> connection;
    SteadyTime since;
  };

  mutable std::mutex mutex_;
  std::deque<Kept> kept_;  ///< oldest first
};

}  // namespace rest_fcgi::salt

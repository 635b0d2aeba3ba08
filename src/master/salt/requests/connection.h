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

/// One TCP connection to a master's `ret_port`: a DEALER that sends `["", body]` and takes `["", body]` back,
/// one request at a time (the master's client protocol). It is made once and never again: ZeroMQ does not
/// reconnect, so nothing that was meant for a master that is gone can reach the next one. Whoever holds it
/// throws it away when it broke or a request failed.
///
/// Messages are wiped, but for what ZeroMQ's buffer of 8 KiB and the kernel's still hold.
///
/// Not synchronized; may go from thread to thread under a mutex.
class Connection {
 public:
  struct Options {
    std::string uri;  ///< `tcp://HOST:PORT`, where HOST is an address or a name, `[...]` for IPv6
    std::size_t max_answer_size = 0;  ///< bytes; a larger answer breaks the connection
  };

  /// Starts to connect. `context` outlives the connection. Errors: configuration, where ZeroMQ does not take
  /// the uri; unavailable, where the process has no more files; internal, where ZeroMQ has no more sockets.
  static Result<std::unique_ptr<Connection>> make(zmq::context_t& context, const Options& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Waits until it can be written to. False: the peer refuses, is no ZeroMQ, or the time was up.
  bool wait_until_open(SteadyTime until);

  /// Can the next request go over it? Not where it was closed, nor where bytes came that are no answer to any
  /// request: they would be taken for the next one's.
  bool is_open();

  /// Sends a message. Errors: unavailable, where the connection was closed; nothing was sent then.
  Result<void> send(WipedBytes message);

  /// Waits for the answer to what was sent; after a timeout it may be waited for again. Errors: unavailable,
  /// where the connection broke before it came; timeout; internal, for an answer that is not `["", body]`.
  Result<WipedBytes> receive(SteadyTime deadline);

 private:
  enum class Seen { ready, broken, time_up };

  explicit Connection(zmq::socket_t socket) : socket_(std::move(socket)) {}
  Seen wait(short events, SteadyTime until);
  bool send_frames(WipedBytes message);
  Result<WipedBytes> receive_frames();

  zmq::socket_t monitor_;  ///< what comes here says that the connection is no more
  zmq::socket_t socket_;
};

/// The master is not there, and nothing was sent.
Error master_not_available();

/// Is `uri` `tcp://HOST:PORT`, with an IPv6 address in brackets? ZeroMQ takes more, such as an address to
/// connect from, and finds out about some mistakes only when it connects, without a word. Errors:
/// configuration.
Result<void> check_endpoint(std::string_view uri);

/// What is known of a master that cannot be reached: while it is away one request at a time tries to connect,
/// and the others need not wait for `connect_timeout` each, one after the other. Thread-safe.
class Outage {
 public:
  /// How long nobody tries again: short, since whoever comes in that time is refused though the master may be
  /// back.
  static constexpr std::chrono::milliseconds kPause{100};

  explicit Outage(std::chrono::milliseconds connect_timeout) : connect_timeout_(connect_timeout) {}

  /// May the caller try to connect? If so it tells how that ended; one that does not keeps the others from
  /// trying for `connect_timeout` and a pause.
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

/// The kept connections that nobody uses now. Owns them. Those put last are taken first, so that what a busy
/// time needed grows old at the other end. Thread-safe; its mutex is what connections pass between threads
/// under.
class IdleConnections {
 public:
  /// A connection that lay this long is closed when the next one is put.
  static constexpr std::chrono::seconds kMaxAge{60};

  /// None: null.
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

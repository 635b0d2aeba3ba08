// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string>

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

  /// Is it open now, and did nothing come that nobody asked for?
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

}  // namespace rest_fcgi::salt

// SPDX-License-Identifier: MIT
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <memory>

#include "gateway/acceptor.h"
#include "gateway/asio.h"
#include "gateway/fastcgi/request.h"
#include "gateway/listening_socket.h"
#include "gateway/shared.h"

namespace rest_fcgi::gateway {

/// The socket for FastCGI, and the connections on it. A request blocks its thread from its first byte to its
/// last; a connection without a request waits in the pool's io_context and holds no thread. Made, started and
/// stopped by one thread.
class FastCgiServer {
 public:
  /// REQUIRES: `shared` outlives the server; `socket` has a descriptor.
  FastCgiServer(Shared& shared, ListeningSocket socket);

  /// Accepts connections.
  void start() { acceptor_.start(); }

  /// Takes no more connections than those that wait already; those on a socket that other processes share are
  /// left to them.
  void stop() { acceptor_.stop(); }

 private:
  void begin(UniqueFd connection, int family);
  /// `patience`: until the next request.
  Task<> serve(UniqueFd connection, int family, std::unique_ptr<Connections::Entry> entry,
               std::chrono::milliseconds patience);
  UniqueFd answer(UniqueFd connection);
  UniqueFd refuse(UniqueFd connection);
  UniqueFd reply(FastCgiRequest& request, http::Environ& environ);

  Shared& shared_;
  const bool is_shared_;  ///< other processes accept from the socket, and may have threads to spare
  const bool carries_streams_;
  Acceptor acceptor_;
};

}  // namespace rest_fcgi::gateway

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

/// The FastCGI server. A request blocks its thread from its first byte to its last. A connection without a
/// request waits in the pool's io_context and blocks no thread. Made, started and stopped by one thread.
class FastCgiServer {
 public:
  /// REQUIRES: `shared` outlives the server; `socket` has a descriptor.
  FastCgiServer(Shared& shared, ListeningSocket socket);

  /// Accepts connections.
  void start() { acceptor_.start(); }

  /// Stops accepting. Connections that wait are accepted first; on a socket that other processes share they
  /// stay for these.
  void stop() { acceptor_.stop(); }

 private:
  void begin(UniqueFd connection, int family);
  /// `patience` is the time for the first request to begin.
  Task<> serve(UniqueFd connection, int family, std::unique_ptr<Connections::Entry> entry,
               std::chrono::milliseconds patience);
  UniqueFd answer(UniqueFd connection);
  UniqueFd refuse(UniqueFd connection);
  UniqueFd reply(FastCgiRequest& request, http::Environ& environ);

  Shared& shared_;
  const bool is_shared_;  ///< other processes accept from the socket as well
  const bool carries_streams_;
  Acceptor acceptor_;
};

}  // namespace rest_fcgi::gateway

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

/// The FastCGI server. Each request blocks a thread of the pool. One thread makes, starts and stops the
/// server.
class FastCgiServer {
 public:
  /// Makes the server. REQUIRES: `shared` outlives the server; `socket` has a descriptor.
  FastCgiServer(Shared& shared, ListeningSocket socket);

  void start() { acceptor_.start(); }

  void stop() { acceptor_.stop(); }

 private:
  void begin(UniqueFd connection, int family);
  void answer_first(UniqueFd connection, int family, std::unique_ptr<Connections::Entry> entry);
  /// Serves all requests of a connection. `patience` is the longest wait for the first request.
  Task<> serve(UniqueFd connection, int family, std::unique_ptr<Connections::Entry> entry,
               std::chrono::milliseconds patience);
  UniqueFd answer(UniqueFd connection);
  /// Answers a request that arrived while all threads were busy.
  Task<UniqueFd> answer_late(UniqueFd connection);
  UniqueFd answer(FastCgiRequest& request, http::Environ& environ, std::chrono::nanoseconds waited);
  UniqueFd answer_at_once(FastCgiRequest& request, http::Response response, bool is_head);
  UniqueFd reply(FastCgiRequest& request, http::Environ& environ);

  Shared& shared_;
  const bool is_shared_;  ///< Whether other processes also accept connections from the listening socket.
  const bool carries_streams_;
  Acceptor acceptor_;
};

}  // namespace rest_fcgi::gateway

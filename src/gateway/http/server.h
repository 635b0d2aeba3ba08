// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "gateway/acceptor.h"
#include "gateway/http/connection.h"
#include "gateway/listening_socket.h"
#include "gateway/shared.h"
#include "gateway/socket_activation.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::gateway {

/// The HTTP server on all ports of `Options::http`. One thread makes, starts and stops the server.
class HttpServer {
 public:
  /// A port that listens.
  struct OpenPort {
    std::shared_ptr<const HttpPort> port;
    ListeningSocket socket;
  };

  /// Opens the listening sockets, or takes them from `sockets`. Reads the certificates. Errors:
  /// configuration, with the module's name and either HOST:PORT or the file.
  static Result<std::vector<OpenPort>> open(const Options& options, SocketActivation& sockets);

  /// REQUIRES: `shared` outlives the server.
  HttpServer(Shared& shared, std::vector<OpenPort> ports);

  /// Accepts connections.
  void start();

  /// Reads all certificates and keys again, for new connections. If the files of a port are bad, the port
  /// keeps its old certificate, and the error is logged.
  void reread_certificates();

  /// Stops accepting. Waiting connections are accepted first. On a socket from the service manager, they stay
  /// for the next process.
  void stop();

 private:
  void begin(std::size_t index, UniqueFd socket, const sockaddr_storage& address);

  Shared& shared_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const HttpPort>> ports_;  // guarded by mutex_
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
};

}  // namespace rest_fcgi::gateway

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

/// The HTTP server on all ports of `Options::http`. Made, started and stopped by one thread.
class HttpServer {
 public:
  /// A port that listens.
  struct OpenPort {
    std::shared_ptr<const HttpPort> port;
    ListeningSocket socket;
  };

  /// Opens the listening sockets, or takes them from `sockets`, and reads the certificates. Errors:
  /// configuration, with the module's name and HOST:PORT or the file.
  static Result<std::vector<OpenPort>> open(const Options& options, SocketActivation& sockets);

  /// REQUIRES: `shared` outlives the server.
  HttpServer(Shared& shared, std::vector<OpenPort> ports);

  /// Accepts connections.
  void start();

  /// Reads all certificates and keys again, for new connections. A port whose files are bad keeps its old
  /// ones, and the log says so.
  void reread_certificates();

  /// Stops accepting. Connections that wait are accepted first; on a socket from the service manager they
  /// stay for the next process.
  void stop();

 private:
  void begin(std::size_t index, UniqueFd socket, const sockaddr_storage& address);

  Shared& shared_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const HttpPort>> ports_;  // guarded by mutex_
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
};

}  // namespace rest_fcgi::gateway

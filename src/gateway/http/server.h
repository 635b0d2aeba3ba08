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
  struct OpenPort {
    std::shared_ptr<const HttpPort> port;
    ListeningSocket socket;
  };

  /// Opens the listening sockets or takes them from `sockets`. Reads the certificates. Errors: configuration,
  /// with the module's name, and with HOST:PORT or the file.
  static Result<std::vector<OpenPort>> open(const Options& options, SocketActivation& sockets);

  /// Makes the server. REQUIRES: `shared` outlives the server.
  HttpServer(Shared& shared, std::vector<OpenPort> ports);

  void start();

  /// Reads the certificates again. If the files of a port are unreadable or not valid, logs the error and
  /// keeps the port's old certificate.
  void reread_certificates();

  void stop();

 private:
  void begin(std::size_t index, UniqueFd socket, const sockaddr_storage& address);

  Shared& shared_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const HttpPort>> ports_;  // `mutex_` guards this member.
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
};

}  // namespace rest_fcgi::gateway

// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "gateway/acceptor.h"
#include "gateway/http/connection.h"
#include "gateway/listening_socket.h"
#include "gateway/shared.h"
#include "gateway/socket_activation.h"
#include "rest_fcgi/core/mutex.h"
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

  using Ports = std::vector<std::shared_ptr<const HttpPort>>;

  /// Returns the ports with the certificates that are in the files now. Errors: configuration, with the file.
  Result<Ports> with_new_certificates() const;

  /// Uses `ports` for new connections.
  void use(Ports ports);

  void keep_ports(const std::function<bool(const HttpOptions&, int)>& keep);

  /// Closes the listening sockets, with `keeps_health` only of ports that do not answer health checks.
  void stop(bool keeps_health);

 private:
  void begin(std::size_t index, UniqueFd socket, const sockaddr_storage& address);

  Shared& shared_;
  mutable Mutex mutex_;
  Ports ports_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
};

}  // namespace rest_fcgi::gateway

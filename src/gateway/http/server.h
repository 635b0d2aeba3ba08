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

/// All ports of `Options::http`. Made, started and stopped by one thread.
class HttpServer {
 public:
  /// A port that listens.
  struct OpenPort {
    std::shared_ptr<const HttpPort> port;
    ListeningSocket socket;
  };

  /// Listens, or takes the socket of a port from those that were handed over, and reads certificates. Errors:
  /// configuration, naming the port's name, and HOST:PORT or the file.
  static Result<std::vector<OpenPort>> open(const Options& options, SocketActivation& sockets);

  /// REQUIRES: `shared` outlives the server.
  HttpServer(Shared& shared, std::vector<OpenPort> ports);

  /// Accepts connections.
  void start();

  /// Reads all certificates and keys again, for the connections that come from then on; where one cannot be
  /// used, those of its port stay, and the log says so.
  void reread_certificates();

  /// Takes no more connections than those that wait already; those that wait at a socket that was handed over
  /// are left to the next process.
  void stop();

 private:
  void begin(std::size_t index, UniqueFd socket, const sockaddr_storage& address);

  Shared& shared_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const HttpPort>> ports_;  // guarded by mutex_
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
};

}  // namespace rest_fcgi::gateway

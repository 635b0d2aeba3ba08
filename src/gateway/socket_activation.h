// SPDX-License-Identifier: MIT
#pragma once

#include <netinet/in.h>

#include <functional>
#include <vector>

#include "gateway/sys.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::gateway {

/// The listening sockets that a service manager passes as descriptors 3 and up (sd_listen_fds(3)). A server
/// takes the socket that has the server's configured address. Used by one thread.
class SocketActivation {
 public:
  /// Takes over the sockets of LISTEN_FDS. Errors: configuration, if LISTEN_FDS is malformed or a descriptor
  /// is not a listening TCP or unix stream socket.
  static Result<SocketActivation> take();

  /// Returns the unix socket for FastCGI. Returns an empty descriptor if no unix socket was passed.
  [[nodiscard]] UniqueFd unix_socket() {
    return take_first([](const Socket& one) { return one.port == 0; });
  }

  /// Returns the socket with the port of `wanted`. Returns an empty descriptor if no such socket was passed.
  /// Errors: configuration, if the socket has another address.
  Result<UniqueFd> on_port(const sockaddr& wanted);

  /// Checks that the servers have taken all sockets. Logs a unix socket that no server has taken. Errors:
  /// configuration, for a TCP socket that no server has taken.
  Result<void> check_rest() const;

 private:
  struct Socket {
    UniqueFd fd;
    in_port_t port;
  };
  UniqueFd take_first(const std::function<bool(const Socket&)>& fits);

  std::vector<Socket> sockets_;
};

}  // namespace rest_fcgi::gateway

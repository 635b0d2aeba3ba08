// SPDX-License-Identifier: MIT
#pragma once

#include <netinet/in.h>

#include <functional>
#include <vector>

#include "gateway/sys.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::gateway {

/// The listening sockets that a service manager passes to this process (sd_listen_fds(3)). If LISTEN_PID is
/// this process, the descriptors from 3 on are sockets, and LISTEN_FDS is their number. The address of a
/// socket decides which server uses the socket. Used by one thread.
class SocketActivation {
 public:
  /// Takes over all sockets, so that child processes do not inherit them. Errors: configuration, if a
  /// descriptor is not a listening stream socket of TCP or a unix socket, or if LISTEN_FDS is not a number in
  /// range.
  static Result<SocketActivation> take();

  /// Returns the unix socket, which FastCGI uses; an empty descriptor if there is no unix socket.
  [[nodiscard]] UniqueFd unix_socket() {
    return take_first([](const Socket& one) { return one.port == 0; });
  }

  /// Returns the socket for the address and port of `wanted`, or an empty descriptor if no socket has that
  /// port. Errors: configuration, if the socket listens on an address that `wanted` does not include.
  [[nodiscard]] Result<UniqueFd> on_port(const sockaddr& wanted);

  /// Checks that no socket is left. Errors: configuration, if a TCP socket is left, because clients of
  /// this socket would wait forever. A unix socket that is left is only logged.
  [[nodiscard]] Result<void> check_rest() const;

 private:
  struct Socket {
    UniqueFd fd;
    in_port_t port;  ///< 0 for a unix socket
  };
  /// Takes the first socket that fits. Returns an empty descriptor if no socket fits.
  UniqueFd take_first(const std::function<bool(const Socket&)>& fits);

  std::vector<Socket> sockets_;
};

}  // namespace rest_fcgi::gateway

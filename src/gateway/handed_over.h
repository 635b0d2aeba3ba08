// SPDX-License-Identifier: MIT
#pragma once

#include <netinet/in.h>

#include <functional>
#include <vector>

#include "gateway/sys.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::gateway {

/// The listening sockets that a service manager opened for this process, and keeps open while there is none:
/// descriptors from 3 on, as many as LISTEN_FDS says, where LISTEN_PID is this process (sd_listen_fds(3)).
/// Which of them is whose is told by its address. Of one thread.
class HandedOver {
 public:
  /// Takes all of them, so that children do not inherit them. Without any this is empty. Errors:
  /// configuration, where one is not a listening stream socket of TCP or a unix socket, or LISTEN_FDS is no
  /// number, or more than could be used.
  static Result<HandedOver> take();

  /// The unix socket, which is FastCGI's. None: there is none, or it was given already.
  [[nodiscard]] UniqueFd unix_socket() {
    return take_first([](const Socket& one) { return one.port == 0; });
  }

  /// The one on the port of `wanted`, an IP address and a port; of several, the one on that very address
  /// where it is there. None: as above. Errors: configuration, where it listens on an address that `wanted`
  /// does not hold: nobody else is let in than who was meant to be.
  [[nodiscard]] Result<UniqueFd> on_port(const sockaddr& wanted);

  /// Errors: configuration, where a TCP socket was not asked for: who connects there would wait forever. A
  /// unix socket that was not is a line in the log.
  [[nodiscard]] Result<void> check_rest() const;

 private:
  struct Socket {
    UniqueFd fd;
    in_port_t port;  ///< 0: a unix socket
  };
  /// None: there is none that fits.
  UniqueFd take_first(const std::function<bool(const Socket&)>& fits);

  std::vector<Socket> sockets_;
};

}  // namespace rest_fcgi::gateway

// SPDX-License-Identifier: MIT
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <optional>
#include <string>

namespace rest_fcgi {

/// A process that listens on a TCP port or a unix socket of this host. Only root sees which processes of
/// other users have a port.
struct SocketHolder {
  uid_t user = 0;      ///< `user` has made the listening socket.
  pid_t pid = 0;       ///< `pid` is 0 if this process may not see who has the socket.
  std::string name{};  ///< `name` is the name of the program, as ps(1) shows it.
  std::string unit{};  ///< `unit` is the service of systemd, such as `salt-api.service`. Empty without one.
};

/// Returns the process that listens on the port of `address`, at this address or at all addresses. Returns
/// std::nullopt if no process listens there.
[[nodiscard]] std::optional<SocketHolder> find_port_holder(const sockaddr& address);

/// Returns the process that listens on the unix socket `path`. Returns std::nullopt if this process cannot
/// connect to the socket.
[[nodiscard]] std::optional<SocketHolder> find_path_holder(const std::string& path);

/// Returns a sentence that names the process, and what to do.
[[nodiscard]] std::string describe(const SocketHolder& holder);

}  // namespace rest_fcgi

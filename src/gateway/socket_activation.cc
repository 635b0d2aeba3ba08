// SPDX-License-Identifier: MIT
#include "gateway/socket_activation.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "gateway/listening_socket.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::gateway {
namespace {

/// The first descriptor that a service manager passes: SD_LISTEN_FDS_START of sd_listen_fds(3).
constexpr int kFirstDescriptor = 3;

constexpr int kMostSockets = 16;

Error mistake(std::string_view why) {
  return {ErrorKind::configuration, format("LISTEN_FDS: {}", why), {}};
}

struct Endpoint {
  in_port_t port = 0;        ///< `port` is the TCP port. 0 if the address is not an IP address.
  std::string_view bytes{};  ///< `bytes` is the IP address in network byte order, borrowed from the sockaddr.
};

Endpoint endpoint_of(const sockaddr& address) {
  const auto bytes = [](const auto& ip) {
    return std::string_view(reinterpret_cast<const char*>(&ip), sizeof ip);
  };
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return {ntohs(v4.sin_port), bytes(v4.sin_addr)};
  }
  if (address.sa_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    return {ntohs(v6.sin6_port), bytes(v6.sin6_addr)};
  }
  return {};
}

sockaddr_storage address_of(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return address;
}

Endpoint endpoint_of(const sockaddr_storage& address) {
  return endpoint_of(reinterpret_cast<const sockaddr&>(address));
}

}  // namespace

Result<SocketActivation> SocketActivation::take() {
  const char* const pid = std::getenv("LISTEN_PID");
  const char* const count = std::getenv("LISTEN_FDS");
  SocketActivation taken;
  // The sockets are for another process if LISTEN_PID is the id of that process.
  if (pid == nullptr || count == nullptr || parse_number<pid_t>(pid) != ::getpid()) return taken;
  const auto number = parse_number<int>(count);
  if (!number || *number < 0 || *number > kMostSockets) {
    return mistake(format("found '{}', expected a number of sockets from 0 to {}", count, kMostSockets));
  }
  const int end = kFirstDescriptor + *number;
  // Checks all descriptors before it copies one, because a copy could get the number of a missing descriptor.
  for (int fd = kFirstDescriptor; fd < end; ++fd) {
    if (!is_listening_stream(fd))
      return mistake(format("file descriptor {} is not a listening stream socket", fd));
  }
  for (int fd = kFirstDescriptor; fd < end; ++fd) {
    auto socket = take_inherited_socket(fd);
    if (!socket) return mistake(socket.error().message);
    ::close(fd);
    const sockaddr_storage name = address_of(socket->get());
    const in_port_t port = endpoint_of(name).port;
    if (port == 0 && name.ss_family != AF_UNIX) {
      return mistake(format("file descriptor {} is neither a unix socket nor a TCP socket", fd));
    }
    taken.sockets_.push_back({*std::move(socket), port});
  }
  return taken;
}

UniqueFd SocketActivation::take_first(const std::function<bool(const Socket&)>& fits) {
  const auto found = std::find_if(sockets_.begin(), sockets_.end(), fits);
  if (found == sockets_.end()) return {};
  UniqueFd fd = std::move(found->fd);
  sockets_.erase(found);
  return fd;
}

Result<UniqueFd> SocketActivation::on_port(const sockaddr& wanted) {
  const Endpoint asked = endpoint_of(wanted);
  const auto is_at = [&asked](const Socket& one) {
    const sockaddr_storage name = address_of(one.fd.get());
    return one.port == asked.port && endpoint_of(name).bytes == asked.bytes;
  };
  if (UniqueFd fd = take_first(is_at)) return fd;
  const auto has_port = [&asked](const Socket& one) { return one.port == asked.port; };
  if (std::none_of(sockets_.begin(), sockets_.end(), has_port)) return UniqueFd();
  // For `::`, any passed socket with this port fits. For 0.0.0.0, only an IPv4 socket with this port fits.
  const bool any = asked.bytes.find_first_not_of('\0') == std::string_view::npos;
  const auto is_within = [&](const Socket& one) {
    const sockaddr_storage name = address_of(one.fd.get());
    return any && has_port(one) && endpoint_of(name).bytes.size() <= asked.bytes.size();
  };
  if (UniqueFd fd = take_first(is_within)) return fd;
  return mistake("the socket that the service manager passed for this port listens on another address");
}

Result<void> SocketActivation::check_rest() const {
  for (const Socket& one : sockets_) {
    if (one.port == 0) {
      log::warning(
          "LISTEN_FDS: a unix socket is not used: FastCGI uses only the first unix socket, and only if "
          "`listen` is empty or fd:0");
      continue;
    }
    return mistake(
        format("a socket on port {} is not used: set this port in rest_cherrypy, rest_tornado or rest_wsgi, "
               "and pass only one socket for each port",
               one.port));
  }
  return {};
}

}  // namespace rest_fcgi::gateway

// SPDX-License-Identifier: MIT
#include "gateway/handed_over.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "gateway/listener.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::gateway {
namespace {

/// SD_LISTEN_FDS_START.
constexpr int kFirstHandedOver = 3;

/// How many descriptors are for this process; another one's children may have its environment still.
int handed_over() {
  const char* const pid = std::getenv("LISTEN_PID");
  const char* const count = std::getenv("LISTEN_FDS");
  if (pid == nullptr || count == nullptr || number_in<pid_t>(pid) != ::getpid()) return 0;
  return number_in<int>(count).value_or(0);
}

/// 0: it is not TCP.
in_port_t tcp_port_of(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return 0;
}

}  // namespace

Result<HandedOver> HandedOver::take() {
  HandedOver taken;
  for (int fd = kFirstHandedOver, end = fd + handed_over(); fd < end; ++fd) {
    auto socket = take_inherited_socket(fd);
    if (!socket) {
      return Error{ErrorKind::configuration, format("LISTEN_FDS: {}", socket.error().message), {}};
    }
    ::close(fd);
    const in_port_t port = tcp_port_of(socket->get());
    taken.sockets_.push_back({*std::move(socket), port});
  }
  return taken;
}

UniqueFd HandedOver::on_port(in_port_t port) {
  const auto found =
      std::find_if(sockets_.begin(), sockets_.end(), [port](const Socket& one) { return one.port == port; });
  if (found == sockets_.end()) return {};
  UniqueFd fd = std::move(found->fd);
  sockets_.erase(found);
  return fd;
}

Result<void> HandedOver::check_ports() const {
  for (const Socket& one : sockets_) {
    if (one.port == 0) continue;
    return Error{
        ErrorKind::configuration,
        format("LISTEN_FDS: a socket on port {} was handed over, and nothing answers there; the port of each "
               "such socket stands in rest_cherrypy, rest_tornado or rest_wsgi, and has one socket",
               one.port),
        {}};
  }
  return {};
}

}  // namespace rest_fcgi::gateway

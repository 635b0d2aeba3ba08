// SPDX-License-Identifier: MIT
#include "rest_fcgi/engine/service.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include <systemd/sd-daemon.h>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::engine {
namespace {

constexpr timeval kTimeout{5, 0};

Error unreachable(const gateway::HttpOptions& port, std::string_view why) {
  const std::string where = port.unix_path.empty() ? format("{}, port {}", port.host, port.port)
                                                   : format("unix:{}", port.unix_path);
  return {ErrorKind::unavailable,
          format("the service does not answer on {} (rest_fcgi: metrics: listen): {}", where, why)};
}

UniqueFd new_socket(int family) {
  UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO})
    ::setsockopt(fd.get(), SOL_SOCKET, option, &kTimeout, sizeof kTimeout);
  return fd;
}

Result<UniqueFd> connect_to_path(const gateway::HttpOptions& port) {
  sockaddr_un address = {AF_UNIX, {}};
  port.unix_path.copy(address.sun_path, sizeof address.sun_path - 1);
  UniqueFd fd = new_socket(AF_UNIX);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  return unreachable(port, errno_text());
}

Result<UniqueFd> connect_to(const gateway::HttpOptions& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(port.host.c_str(), std::to_string(port.port).c_str(), &hints, &found);
  if (error != 0) return unreachable(port, ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  std::string why = "the host name has no address";
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    UniqueFd fd = new_socket(one->ai_family);
    if (::connect(fd.get(), one->ai_addr, one->ai_addrlen) == 0) return fd;
    why = errno_text();
  }
  return unreachable(port, why);
}

}  // namespace

void notify_systemd(const std::string& lines) {
  ::sd_notify(0, lines.c_str());
}

Watchdog::Watchdog(store::Store& store) {
  std::uint64_t microseconds = 0;
  if (::sd_watchdog_enabled(0, &microseconds) <= 0) return;
  const std::chrono::microseconds pause(microseconds / 3);
  ticks_ = store.every_second([this, pause] {
    const auto now = std::chrono::steady_clock::now();
    if (now - sent_ < pause) return;
    sent_ = now;
    notify_systemd("WATCHDOG=1");
  });
}

Result<Readiness> ask_readiness(const gateway::HttpOptions& port) {
  auto connection = port.unix_path.empty() ? connect_to(port) : connect_to_path(port);
  if (!connection) return std::move(connection).error();
  constexpr std::string_view kRequest = "GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  if (auto sent = write_all(connection->get(), kRequest); !sent)
    return unreachable(port, sent.error().message);
  std::string reply;
  char part[4096];
  for (ssize_t got = 0; (got = ::read(connection->get(), part, sizeof part)) > 0;) {
    reply.append(part, static_cast<std::size_t>(got));
  }
  const std::size_t body = reply.find("\r\n\r\n");
  if (!reply.starts_with("HTTP/1.1 ") || body == std::string::npos)
    return unreachable(port, "the reply is not an HTTP reply");
  return Readiness{reply.starts_with("HTTP/1.1 200 "), reply.substr(body + 4)};
}

}  // namespace rest_fcgi::engine

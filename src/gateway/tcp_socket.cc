// SPDX-License-Identifier: MIT
#include "gateway/tcp_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <charconv>
#include <cstring>
#include <optional>
#include <string>

#include "gateway/listener.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::gateway {
namespace {

constexpr std::string_view kAccepted =
    "accepted are tcp:127.0.0.1:9000, tcp:[::1]:9000, tcp:localhost:9000 and the like";

Error failure(std::string why) {
  return {ErrorKind::configuration, std::move(why), {}};
}

struct HostPort {
  std::string host;
  in_port_t port = 0;
};

std::optional<in_port_t> parse_port(std::string_view text) {
  in_port_t port = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc() || rest != end || port == 0) return std::nullopt;
  return port;
}

Result<HostPort> split(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return failure(format("the port is missing; {}", kAccepted));
  std::string_view host = address.substr(0, colon);
  const std::string_view port_text = address.substr(colon + 1);
  const auto port = parse_port(port_text);
  if (!port) return failure(format("'{}' is not a port from 1 to 65535; {}", port_text, kAccepted));

  const bool brackets = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (brackets) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return failure(format("an IPv6 address has to be in brackets; {}", kAccepted));
  }
  if (host == "localhost" && !brackets) host = "127.0.0.1";
  return HostPort{std::string(host), *port};
}

/// An IPv4 or IPv6 socket address.
struct Address {
  sockaddr_storage storage = {};
  socklen_t size = 0;
  bool loopback = false;

  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }

  template <class T>
  void assign(const T& address, bool is_loopback) {
    std::memcpy(&storage, &address, sizeof address);
    size = sizeof address;
    loopback = is_loopback;
  }
};

Result<Address> resolve(const HostPort& where) {
  Address address;
  sockaddr_in v4 = {};
  sockaddr_in6 v6 = {};
  if (::inet_pton(AF_INET, where.host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(where.port);
    address.assign(v4, ntohl(v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET);
  } else if (::inet_pton(AF_INET6, where.host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(where.port);
    address.assign(v6, IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr));
  } else {
    return failure(format("'{}' is not an IP address; {}", where.host, kAccepted));
  }
  return address;
}

}  // namespace

Result<UniqueFd> open_tcp_socket(std::string_view address, bool allow_remote) {
  auto where = split(address);
  if (!where) return std::move(where).error();
  auto resolved = resolve(*where);
  if (!resolved) return std::move(resolved).error();
  if (!resolved->loopback && !allow_remote) {
    return failure(
        "other hosts could connect, and FastCGI has neither passwords nor encryption; use a loopback "
        "address, or "
        "set allow_remote: true");
  }

  UniqueFd fd(::socket(resolved->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return failure(errno_text());
  set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (::bind(fd.get(), resolved->get(), resolved->size) != 0) return failure(errno_text());
  if (::listen(fd.get(), kBacklog) != 0) return failure(errno_text());
  return fd;
}

}  // namespace rest_fcgi::gateway

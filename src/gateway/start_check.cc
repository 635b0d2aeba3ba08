// SPDX-License-Identifier: MIT
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/listening_socket.h"
#include "gateway/sys.h"
#include "gateway/tls.h"
#include "rest_fcgi/core/access.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/socket_holder.h"
#include "rest_fcgi/gateway/gateway.h"

namespace rest_fcgi::gateway {
namespace {

constexpr std::string_view kProgram = "rest_fcgi";  // The name of this program's processes.

/// The socket of rest_fcgi.socket and rest_fcgi-salt.socket, which systemd passes to the service.
constexpr const char* kPassedSocket = "/run/rest_fcgi/rest_fcgi.sock";

/// An address that the gateway listens on.
struct WantedAddress {
  std::string where;   ///< `where` names the configuration key and the address.
  std::string path{};  ///< `path` is the path of a unix socket. Empty for a TCP port.
  FoundAddress address{nullptr, &::freeaddrinfo};
};

bool is_any(const sockaddr& address) {
  if (address.sa_family == AF_INET) return reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr == 0;
  return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

/// Returns whether only one of the two addresses can be listened on. The address `::` includes IPv4.
bool overlap(const addrinfo& one, const addrinfo& other) {
  const sockaddr& a = *one.ai_addr;
  const sockaddr& b = *other.ai_addr;
  // `sin_port` and `sin6_port` are at the same offset.
  const auto port = [](const sockaddr& it) { return reinterpret_cast<const sockaddr_in&>(it).sin_port; };
  if (port(a) != port(b)) return false;
  if (a.sa_family != b.sa_family) return is_any(a.sa_family == AF_INET6 ? a : b);
  if (is_any(a) || is_any(b)) return true;
  if (a.sa_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(a).sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in&>(b).sin_addr.s_addr;
  }
  return IN6_ARE_ADDR_EQUAL(&reinterpret_cast<const sockaddr_in6&>(a).sin6_addr,
                            &reinterpret_cast<const sockaddr_in6&>(b).sin6_addr);
}

bool overlap(const WantedAddress& one, const WantedAddress& other) {
  if (!one.address || !other.address) return !one.path.empty() && one.path == other.path;
  return overlap(*one.address, *other.address);
}

bool is_given_a_socket() {
  return is_listening_stream(STDIN_FILENO) || std::getenv("LISTEN_FDS") != nullptr ||
         ::access(kPassedSocket, F_OK) == 0;
}

Result<std::optional<WantedAddress>> fastcgi_listener(const Options& options) {
  const std::string_view listen = options.listen;
  WantedAddress made{format("rest_fcgi: listen: {}", listen)};
  if (listen.starts_with(kUnix)) {
    made.path = listen.substr(kUnix.size());
    return std::optional(std::move(made));
  }
  if (listen.starts_with(kTcp)) {
    auto address = find_fastcgi_address(listen.substr(kTcp.size()), options.allow_remote);
    if (!address) return wrong_setting(made.where, address.error().message);
    made.address = *std::move(address);
    return std::optional(std::move(made));
  }
  if (!listen.empty() && listen != "fd:0")
    return wrong_setting(made.where, "expected unix:PATH, tcp:HOST:PORT, or fd:0 for a listening socket");
  if (!listen.empty() || has_api_port(options) || is_given_a_socket()) return std::optional<WantedAddress>();
  return nothing_to_listen_on(options);
}

Result<WantedAddress> http_listener(const HttpOptions& port) {
  WantedAddress made;
  if (!port.unix_path.empty()) {
    made.where = format("{}: listen: unix:{}", port.name, port.unix_path);
    made.path = port.unix_path;
    return made;
  }
  made.where = format("{}: port: {} port {}", port.name, port.host, port.port);
  auto address = find_http_address(port);
  if (!address) return wrong_setting(made.where, address.error().message);
  made.address = *std::move(address);
  return made;
}

/// Returns all addresses in the order in which `Gateway::open` opens them.
Result<std::vector<WantedAddress>> listeners_of(const Options& options) {
  std::vector<WantedAddress> all;
  for (const HttpOptions& port : options.http) {
    auto wanted = http_listener(port);
    if (!wanted) return std::move(wanted).error();
    all.push_back(*std::move(wanted));
  }
  auto fastcgi = fastcgi_listener(options);
  if (!fastcgi) return std::move(fastcgi).error();
  if (*fastcgi) all.push_back(**std::move(fastcgi));
  return all;
}

/// Tries the change with a file that is only in memory. The kernel and the unit may forbid the change.
Result<void> check_ownership(const Options& options) {
  const auto wanted = find_ownership(options);
  if (!wanted) return wanted.error();
  if (options.socket_owner.empty() && options.socket_group.empty()) return {};
  const UniqueFd file(::memfd_create("rest_fcgi", MFD_CLOEXEC));
  if (!file || ::fchown(file.get(), wanted->user, wanted->group) == 0) return {};
  const bool is_group = options.socket_owner.empty();
  return wrong_setting(
      is_group ? "rest_fcgi: socket_group" : "rest_fcgi: socket_owner",
      format(
          "this process may not give the socket to {}: {}. A socket unit of systemd can set owner and group",
          is_group ? options.socket_group : options.socket_owner, errno_text()));
}

Result<void> check_path(const WantedAddress& wanted) {
  if (auto fits = check_unix_path(wanted.path); !fits)
    return wrong_setting(wanted.where, fits.error().message);
  if (const auto why = why_not_creatable(wanted.path)) return wrong_setting(wanted.where, *why);
  struct stat status {};
  if (::lstat(wanted.path.c_str(), &status) == 0 && !S_ISSOCK(status.st_mode))
    return wrong_setting(wanted.where,
                         "the path exists and is not a socket: remove the file or choose another path");
  return {};
}

/// Binds the address without listening, so that no client can connect.
int bind_error(const addrinfo& address) {
  const UniqueFd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return errno;
  set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.ai_family == AF_INET6) set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  return ::bind(fd.get(), address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
}

/// Only the start knows whether another program has the port, and whether the unit allows the port.
Result<void> check_port(const WantedAddress& wanted) {
  const int error = bind_error(*wanted.address);
  if (error != EADDRNOTAVAIL && error != EAFNOSUPPORT) return {};
  return wrong_setting(wanted.where, format("{}: this host does not have the address", errno_text(error)));
}

std::optional<std::string> describe_other_holder(const WantedAddress& wanted) {
  if (!wanted.address) {
    const auto holder = find_path_holder(wanted.path);
    return holder && holder->name != kProgram ? std::optional(describe(*holder)) : std::nullopt;
  }
  if (bind_error(*wanted.address) != EADDRINUSE) return std::nullopt;
  const auto holder = find_port_holder(*wanted.address->ai_addr);
  if (!holder) return errno_text(EADDRINUSE);
  // Only processes of rest_fcgi hide their sockets from other processes of the same user.
  const bool is_own = holder->pid == 0 ? holder->user == ::geteuid() : holder->name == kProgram;
  return is_own ? std::nullopt : std::optional(describe(*holder));
}

}  // namespace

Result<void> check_start(const Options& options) {
  for (const HttpOptions& port : options.http) {
    if (auto made = make_tls_context(port); !made) return std::move(made).error();
  }
  const auto all = listeners_of(options);
  if (!all) return all.error();
  if (options.listen.starts_with(kUnix)) {
    if (auto good = check_ownership(options); !good) return good;
  }
  for (auto at = all->begin(); at != all->end(); ++at) {
    const auto other =
        std::find_if(all->begin(), at, [&](const WantedAddress& one) { return overlap(one, *at); });
    if (other != at)
      return wrong_setting(at->where, format("found the address of {}, expected another one", other->where));
    if (auto good = at->address ? check_port(*at) : check_path(*at); !good) return good;
  }
  return {};
}

std::vector<Error> taken_addresses(const Options& options) {
  std::vector<Error> lines;
  const auto all = listeners_of(options);
  if (!all) return lines;
  for (const WantedAddress& wanted : *all) {
    if (const auto holder = describe_other_holder(wanted))
      lines.push_back(wrong_setting(wanted.where, *holder));
  }
  return lines;
}

}  // namespace rest_fcgi::gateway

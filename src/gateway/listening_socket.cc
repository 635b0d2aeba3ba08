// SPDX-License-Identifier: MIT
#include "gateway/listening_socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "rest_fcgi/core/address.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/socket_holder.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/core/users.h"

namespace rest_fcgi::gateway {
namespace {

/// The largest number of connections that wait for accept(2). The kernel's limit is net.core.somaxconn.
constexpr int kBacklog = 65535;

constexpr std::string_view kAccepted =
    "accepted are unix:PATH, tcp:HOST:PORT, and fd:0 for a listening socket on file descriptor 0";
constexpr std::string_view kTcpAccepted =
    "accepted are IP addresses with a port from 1 to 65535, such as tcp:127.0.0.1:9000, tcp:[::1]:9000 and "
    "tcp:localhost:9000";

Error failure(std::string_view why) {
  return {ErrorKind::configuration, std::string(why), {}};
}

Error failure(const Options& options, const Error& why) {
  return failure(format("cannot listen on {}: {}", options.listen, why.message));
}

Error bind_failure(const sockaddr& address) {
  const int error = errno;
  if (error == EADDRINUSE) {
    const auto holder = find_port_holder(address);
    return failure(errno_text(error) + (holder ? format(": {}", describe(*holder)) : std::string()));
  }
  if (error != EACCES && error != EPERM) return failure(errno_text(error));
  return failure(
      format("{}; this process has no permission to open the port: under systemd, the service needs "
             "SocketBindAllow=, and CAP_NET_BIND_SERVICE for a port below 1024",
             errno_text(error)));
}

bool is_loopback(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return ntohl(v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

class UnixAddress {
 public:
  explicit UnixAddress(const std::string& path) {
    path.copy(address_.sun_path, sizeof address_.sun_path - 1);
  }
  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&address_); }
  static constexpr socklen_t size() noexcept { return sizeof(sockaddr_un); }

 private:
  sockaddr_un address_ = {AF_UNIX, {}};
};

UniqueFd new_socket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/// Fails if a process uses the socket or the file is no socket.
Result<void> clear_path(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return failure(errno_text());
  }
  if (!S_ISSOCK(status.st_mode))
    return failure("the path exists and is not a socket: remove the file or choose another path");

  const UniqueFd probe = new_socket();
  const UnixAddress address(path);
  // EAGAIN means that a process listens, but the socket's queue is full.
  if (::connect(probe.get(), address.get(), UnixAddress::size()) == 0 || errno == EAGAIN) {
    return failure("another process is serving this socket");
  }
  if (errno != ECONNREFUSED) {
    return failure(format("cannot tell whether a process is serving this socket: {}", errno_text()));
  }
  if (::unlink(path.c_str()) != 0) return failure(format("cannot replace the old socket: {}", errno_text()));
  return {};
}

Result<void> set_access(const std::string& path, const Ownership& ownership, mode_t mode) {
  // The units forbid chown(2), even without a change.
  const bool changes_owner = ownership.user != Ownership{}.user || ownership.group != Ownership{}.group;
  if (changes_owner && ::lchown(path.c_str(), ownership.user, ownership.group) != 0) {
    return failure(format("cannot set the socket's owner or group: {}", errno_text()));
  }
  if (::chmod(path.c_str(), mode) != 0) {
    return failure(format("cannot set the socket's mode: {}", errno_text()));
  }
  return {};
}

struct UnixSocket {
  UniqueFd fd;
  std::unique_ptr<SocketFile> file;
};

/// Makes a listening socket on `path`, and replaces the file of an unused socket. Errors: configuration. The
/// message has only the reason; the caller adds the path.
Result<UnixSocket> open_unix_socket(const std::string& path, const Options& options) {
  if (auto fits = check_unix_path(path); !fits) return std::move(fits).error();
  auto ownership = find_ownership(options);
  if (!ownership) return std::move(ownership).error();
  if (auto cleared = clear_path(path); !cleared) return std::move(cleared).error();

  UnixSocket made{new_socket(), nullptr};
  const UnixAddress address(path);
  const mode_t old_mask = ::umask(0177);
  const int bound = ::bind(made.fd.get(), address.get(), UnixAddress::size());
  const int bind_error = errno;
  ::umask(old_mask);
  if (bound != 0) return failure(errno_text(bind_error));
  made.file = std::make_unique<SocketFile>(path);

  // Sets the access rights before listen(2), because connections are possible from then on.
  if (auto set = set_access(path, *ownership, options.socket_mode); !set) return std::move(set).error();
  if (::listen(made.fd.get(), kBacklog) != 0) return failure(errno_text());
  return made;
}

/// Returns whether mod_fcgid made the socket. mod_fcgid names sockets PID.NUMBER (fcgid_proc_unix.c).
bool is_of_mod_fcgid(int fd) {
  sockaddr_un address = {};
  socklen_t size = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return false;
  if (address.sun_family != AF_UNIX || size <= offsetof(sockaddr_un, sun_path)) return false;
  const std::string_view path(address.sun_path, ::strnlen(address.sun_path, sizeof address.sun_path));
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const std::size_t dot = name.find('.');
  return dot != std::string_view::npos && only_digits(name.substr(0, dot)) &&
         only_digits(name.substr(dot + 1));
}

}  // namespace

bool is_listening_stream(int fd) {
  int listening = 0;
  int type = 0;
  socklen_t size = sizeof listening;
  if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0 || listening == 0) return false;
  size = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

Result<FoundAddress> find_address(const std::string& host, in_port_t port) {
  addrinfo hints = {};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) return failure(error == EAI_SYSTEM ? errno_text() : std::string(::gai_strerror(error)));
  return FoundAddress(found, &::freeaddrinfo);
}

Result<FoundAddress> find_fastcgi_address(std::string_view host_port, bool allow_remote) {
  const HostPort where = parse_host_port(host_port).value_or(HostPort());
  const std::string host(where.host == "localhost" ? "127.0.0.1" : where.host);
  if (!IpAddress::parse(host)) return failure(format("found '{}'; {}", host_port, kTcpAccepted));
  auto found = find_address(host, where.port);
  if (found && !is_loopback(*(*found)->ai_addr) && !allow_remote) {
    return failure(
        "other hosts could connect, and FastCGI has neither passwords nor encryption; use a loopback "
        "address, or set allow_remote: true");
  }
  return found;
}

Result<FoundAddress> find_http_address(const HttpOptions& options) {
  // If the kernel has no IPv6, `::` means all IPv4 addresses.
  const bool is_any = options.host == "::";
  const bool lacks_ipv6 = is_any && !UniqueFd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return find_address(lacks_ipv6 ? "0.0.0.0" : options.host, options.port);
}

Result<void> check_unix_path(const std::string& path) {
  constexpr std::size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1;
  if (path.empty()) return failure("found no path after 'unix:', expected one");
  if (path.size() <= kMaxPath) return {};
  return failure(
      format("the path has {} bytes, expected at most {} for a unix socket", path.size(), kMaxPath));
}

Result<Ownership> find_ownership(const Options& options) {
  Ownership ownership;
  if (!options.socket_owner.empty()) {
    const auto user = account_of(options.socket_owner);
    if (!user)
      return wrong_setting("rest_fcgi: socket_owner", format("there is no user '{}'", options.socket_owner));
    ownership.user = user->uid;
  }
  if (!options.socket_group.empty()) {
    const auto group = group_id(options.socket_group);
    if (!group)
      return wrong_setting("rest_fcgi: socket_group", format("there is no group '{}'", options.socket_group));
    ownership.group = *group;
  }
  return ownership;
}

Result<UniqueFd> listen_on(const addrinfo& address) {
  UniqueFd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return failure(errno_text());
  set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  // Makes `::` include IPv4 for every value of net.ipv6.bindv6only.
  if (address.ai_family == AF_INET6) set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (::bind(fd.get(), address.ai_addr, address.ai_addrlen) != 0) return bind_failure(*address.ai_addr);
  if (::listen(fd.get(), kBacklog) != 0) return failure(errno_text());
  return fd;
}

SocketFile::SocketFile(std::string path) : path_(std::move(path)) {
  struct stat status {};
  // If lstat(2) fails, the inode stays 0. No file has the inode 0, so the destructor then removes no file.
  ::lstat(path_.c_str(), &status);
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

SocketFile::~SocketFile() {
  struct stat status {};
  const bool ours =
      ::lstat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
  if (ours) ::unlink(path_.c_str());
}

Result<UniqueFd> take_inherited_socket(int fd) {
  if (!is_listening_stream(fd)) {
    return failure(format("file descriptor {} is not a listening stream socket", fd));
  }
  UniqueFd taken(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!taken) return failure(errno_text());
  const int flags = ::fcntl(taken.get(), F_GETFL);
  if (flags < 0 || ::fcntl(taken.get(), F_SETFL, flags | O_NONBLOCK) != 0) return failure(errno_text());
  // Lengthens the accept queue, because the creator of the socket may have set a short queue. Connections
  // fail while the accept queue is full.
  if (::listen(taken.get(), kBacklog) != 0) return failure(errno_text());
  // Opens /dev/null as `fd`, because child processes must neither inherit the socket nor read it as standard
  // input.
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null || ::dup2(null.get(), fd) < 0) return failure(format("/dev/null: {}", errno_text()));
  return taken;
}

bool has_api_port(const Options& options) {
  return std::any_of(options.http.begin(), options.http.end(),
                     [](const HttpOptions& port) { return !port.is_monitoring; });
}

Error nothing_to_listen_on(const Options& options) {
  return wrong_setting(
      "rest_fcgi: netapi",
      format("there is nothing to listen on: found neither an HTTP port nor an address for "
             "FastCGI (--listen or rest_fcgi: listen) nor a listening socket on file descriptor 0; {}{}{}",
             options.advice, options.advice.empty() ? "" : " For FastCGI, ", kAccepted));
}

namespace {

Result<ListeningSocket> open_wanted(const Options& options, SocketActivation& sockets) {
  const std::string_view listen = options.listen;
  if (listen.starts_with(kUnix)) {
    auto made = open_unix_socket(std::string(listen.substr(kUnix.size())), options);
    if (!made) return failure(options, made.error());
    return ListeningSocket{std::move(made->fd), false, true, std::move(made->file)};
  }
  if (listen.starts_with(kTcp)) {
    auto address = find_fastcgi_address(listen.substr(kTcp.size()), options.allow_remote);
    if (!address) return failure(options, address.error());
    auto made = listen_on(**address);
    if (!made) return failure(options, made.error());
    return ListeningSocket{*std::move(made)};
  }
  if (!listen.empty() && listen != "fd:0") {
    return failure(format("cannot listen on '{}'; {}", options.listen, kAccepted));
  }
  if (UniqueFd given = sockets.unix_socket()) return ListeningSocket{std::move(given), true};
  if (listen.empty() && !is_listening_stream(0)) {
    if (has_api_port(options)) return ListeningSocket{};
    return nothing_to_listen_on(options);
  }
  auto taken = take_inherited_socket(0);
  if (!taken) return failure(format("cannot listen on fd:0: {}", taken.error().message));
  const bool carries_streams = !is_of_mod_fcgid(taken->get());
  return ListeningSocket{*std::move(taken), true, carries_streams};
}

}  // namespace

Result<ListeningSocket> open_fastcgi_socket(const Options& options, SocketActivation& sockets) {
  auto opened = open_wanted(options, sockets);
  // Accepted connections inherit TCP_NODELAY. A unix socket refuses TCP_NODELAY, and this failure is ignored.
  if (opened) set_option(opened->fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  return opened;
}

Result<ListeningSocket> open_http_socket(const HttpOptions& options, SocketActivation& sockets) {
  if (!options.unix_path.empty()) {
    // `Options{}` gives the socket file its default mode, 0660.
    auto made = open_unix_socket(options.unix_path, Options{});
    if (made) return ListeningSocket{std::move(made->fd), false, true, std::move(made->file)};
    return wrong_setting(options.name,
                         format("cannot listen on unix:{}: {}", options.unix_path, made.error().message));
  }
  const auto refusal = [&options](std::string_view why) {
    return wrong_setting(options.name,
                         format("cannot listen on {}: {}", host_port_text(options.host, options.port), why));
  };
  auto address = find_http_address(options);
  if (!address) return refusal(address.error().message);
  auto given = sockets.on_port(*(*address)->ai_addr);
  if (!given) return refusal(given.error().message);
  const bool is_shared = given->is_open();
  auto fd = is_shared ? std::move(given) : listen_on(**address);
  if (!fd) return refusal(fd.error().message);
  set_option(fd->get(), IPPROTO_TCP, TCP_NODELAY, 1);  // Accepted connections inherit TCP_NODELAY.
  return ListeningSocket{*std::move(fd), is_shared};
}

}  // namespace rest_fcgi::gateway

// SPDX-License-Identifier: MIT
#pragma once

#include <netdb.h>
#include <netinet/in.h>
#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/socket_activation.h"
#include "gateway/sys.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/gateway/options.h"

namespace rest_fcgi::gateway {

/// The prefixes of `Options::listen`.
inline constexpr std::string_view kUnix = "unix:";
inline constexpr std::string_view kTcp = "tcp:";

[[nodiscard]] bool is_listening_stream(int fd);

/// Returns the first address of `host`, a name or an IP address. Errors: configuration. The message has only
/// the reason; the caller adds the address.
using FoundAddress = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;
Result<FoundAddress> find_address(const std::string& host, in_port_t port);

/// Returns the address of `rest_fcgi: listen: tcp:HOST:PORT`. `host_port` is HOST:PORT, with an IP address or
/// `localhost`. If HOST is not a loopback address, `allow_remote` must be true. Errors: configuration. The
/// message has only the reason; the caller adds the address.
Result<FoundAddress> find_fastcgi_address(std::string_view host_port, bool allow_remote);

/// Returns the address of an HTTP port. Errors: the errors of `find_address`.
Result<FoundAddress> find_http_address(const HttpOptions& options);

/// Checks that a unix socket may have this path. Errors: configuration. The message has only the reason.
Result<void> check_unix_path(const std::string& path);

/// The owner and group of a unix socket. As in chown(2), -1 means no change.
struct Ownership {
  uid_t user = static_cast<uid_t>(-1);
  gid_t group = static_cast<gid_t>(-1);
};

/// Looks up `socket_owner` and `socket_group`. Errors: configuration, with the key.
Result<Ownership> find_ownership(const Options& options);

/// Opens a listening socket. Errors: configuration. The message has only the reason, without the address.
Result<UniqueFd> listen_on(const addrinfo& address);

/// Moves the inherited listening socket `fd` to another descriptor, and opens /dev/null as `fd`. Makes the
/// queue of the socket longer. Errors: configuration, if `fd` is not a listening stream socket.
Result<UniqueFd> take_inherited_socket(int fd);

/// The file of a unix socket that this process made. The destructor removes the file unless it was replaced.
class SocketFile {
 public:
  explicit SocketFile(std::string path);
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;
  ~SocketFile();

 private:
  std::string path_;
  dev_t device_;
  ino_t inode_;
};

/// A listening socket. `file` is set only if this process made a unix socket.
struct ListeningSocket {
  UniqueFd fd;
  bool is_shared = false;
  /// Whether event streams are possible. False under mod_fcgid, which buffers replies.
  bool carries_streams = true;
  std::unique_ptr<SocketFile> file{};
};

/// Returns whether an HTTP port serves the API, not only metrics.
[[nodiscard]] bool has_api_port(const Options& options);

/// Returns the error of a service that has neither an HTTP port for the API nor a FastCGI socket.
[[nodiscard]] Error nothing_to_listen_on(const Options& options);

/// Opens the FastCGI socket of `Options::listen`. If the options have only HTTP, the result has no
/// descriptor. Errors: configuration, with the address and the reason.
Result<ListeningSocket> open_fastcgi_socket(const Options& options, SocketActivation& sockets);

/// Opens an HTTP port or unix socket. Takes the socket from `sockets` if possible. Errors: configuration,
/// with the module and the address.
Result<ListeningSocket> open_http_socket(const HttpOptions& options, SocketActivation& sockets);

}  // namespace rest_fcgi::gateway

// SPDX-License-Identifier: MIT
#pragma once

#include <netdb.h>
#include <netinet/in.h>
#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>

#include "gateway/socket_activation.h"
#include "gateway/sys.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/gateway/options.h"

namespace rest_fcgi::gateway {

[[nodiscard]] bool is_listening_stream(int fd);

/// Returns the first address of `host`, a name or an IP address. Errors: configuration. The message has only
/// the reason; the caller adds the address.
using FoundAddress = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;
Result<FoundAddress> find_address(const std::string& host, in_port_t port);

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

/// Opens the FastCGI socket of `Options::listen`. If the options have only HTTP, the result has no
/// descriptor. Errors: configuration, with the address and the reason.
Result<ListeningSocket> open_fastcgi_socket(const Options& options, SocketActivation& sockets);

/// Opens an HTTP port or unix socket. Takes the socket from `sockets` if possible. Errors: configuration,
/// with the module and the address.
Result<ListeningSocket> open_http_socket(const HttpOptions& options, SocketActivation& sockets);

}  // namespace rest_fcgi::gateway

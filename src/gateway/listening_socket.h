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

/// Returns whether `fd` is a listening stream socket.
[[nodiscard]] bool is_listening_stream(int fd);

/// Returns the first address of `host`, which is an IP address or a name. Errors: configuration. The message
/// is only the system's reason.
using FoundAddress = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;
Result<FoundAddress> find_address(const std::string& host, in_port_t port);

/// Opens a listening socket. Errors: configuration. The message is only the system's reason.
Result<UniqueFd> listen_on(const addrinfo& address);

/// Takes over the inherited listening socket `fd` and returns it with another number. Makes its queue as long
/// as the system allows. Opens /dev/null under the number `fd`. Errors: configuration, if `fd` is not a
/// listening stream socket.
Result<UniqueFd> take_inherited_socket(int fd);

/// The file of a unix socket that this process made. The destructor removes the file, unless another file has
/// replaced it.
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

/// A listening socket. `file` is set if this process made a unix socket.
struct ListeningSocket {
  UniqueFd fd;
  bool is_shared = false;  ///< other processes may accept connections from the socket
  /// Whether event streams are possible. This is false under mod_fcgid: mod_fcgid buffers replies, does not
  /// report that a client is gone, and gives each process one request at a time.
  bool carries_streams = true;
  std::unique_ptr<SocketFile> file{};
};

/// Opens the FastCGI socket of `Options::listen`. The result has no descriptor if only HTTP is configured.
/// Errors: configuration, with the address and the reason.
Result<ListeningSocket> open_fastcgi_socket(const Options& options, SocketActivation& sockets);

/// Opens the HTTP port of `options`, or takes its socket from `sockets`. Errors: configuration, with the
/// module's name and HOST:PORT.
Result<ListeningSocket> open_http_socket(const HttpOptions& options, SocketActivation& sockets);

}  // namespace rest_fcgi::gateway

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

/// Is `fd` a socket on which connections come in as streams?
[[nodiscard]] bool is_listening_stream(int fd);

/// The first address that `host` has, which is an IPv4 or IPv6 one, or a name. Errors: configuration, with
/// the system's reason alone.
using FoundAddress = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;
Result<FoundAddress> find_address(const std::string& host, in_port_t port);

/// A socket that listens there. Errors: as above.
Result<UniqueFd> listen_on(const addrinfo& address, std::size_t backlog);

/// Takes over the listening socket that another program opened for us as descriptor `fd`, which then reads
/// from /dev/null, and makes its queue as long as the system allows. Errors: configuration, when it is no
/// listening stream socket, or cannot be taken.
Result<UniqueFd> take_inherited_socket(int fd);

/// The name in the file system of a unix socket that we made. Owns it: removes it at the end, if it is still
/// the same file.
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

/// A socket on which connections come in, and, where we made one, its name in the file system.
struct ListeningSocket {
  UniqueFd fd;
  bool is_shared = false;  ///< other processes may accept from it
  /// May a reply on its connections go on and on? Not where mod_fcgid started this process: it collects what
  /// comes until there is much of it, tells nobody that a client is gone, and gives each process one request
  /// at a time.
  bool carries_streams = true;
  std::unique_ptr<SocketFile> file{};
};

/// Opens what `Options::listen` asks for. Without a word about FastCGI, and with ports for HTTP, there is no
/// socket. Errors: configuration, naming what was asked for and why it cannot be had.
Result<ListeningSocket> open_fastcgi_socket(const Options& options, SocketActivation& sockets);

/// Opens the port of `options`, or takes the socket for it from `sockets`. Errors: configuration, naming the
/// port's name and HOST:PORT.
Result<ListeningSocket> open_http_socket(const HttpOptions& options, SocketActivation& sockets);

}  // namespace rest_fcgi::gateway

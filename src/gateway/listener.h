// SPDX-License-Identifier: MIT
#pragma once

#include <netdb.h>
#include <netinet/in.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

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

/// The socket on which connections come in. `accept` and `fd` may be used by many threads at once, also while
/// one calls `close`. Owns the socket and, where we made one, its name in the file system.
class Listener {
 public:
  enum class Kind { unix_socket, tcp, inherited, none };

  /// REQUIRES: `fd` listens and does not block; `file` is its name, where it is a unix socket that we made.
  Listener(Kind kind, UniqueFd fd, std::unique_ptr<SocketFile> file = nullptr);

  /// What `Options::listen` asks for. Errors: configuration, naming what was asked for and why it cannot be
  /// had.
  static Result<std::unique_ptr<Listener>> open(const Options& options);

  /// On which nobody can come. Errors: internal, where there are no descriptors left.
  static Result<std::unique_ptr<Listener>> none();

  /// A connection that waits, with close-on-exec. None: errno says why, EAGAIN when none waits.
  [[nodiscard]] UniqueFd accept() const noexcept;

  /// For epoll and poll; valid as long as the Listener, also when closed.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  [[nodiscard]] bool closed() const noexcept { return closed_; }

  /// May other processes accept from the same socket?
  [[nodiscard]] bool shared() const noexcept { return kind_ == Kind::inherited; }

  /// May a reply on its connections go on and on? Not where mod_fcgid started this process: it collects what
  /// comes until there is much of it, tells nobody that a client is gone, and gives each process one request
  /// at a time.
  [[nodiscard]] bool carries_streams() const noexcept { return carries_streams_; }

  /// Takes no more connections and removes the socket's name. Returns those that were waiting on a socket of
  /// our own; those on an inherited one are left to the processes that share it. Call once.
  std::vector<UniqueFd> close();

 private:
  Kind kind_;
  bool carries_streams_;
  UniqueFd fd_;
  std::unique_ptr<SocketFile> file_;
  std::atomic<bool> closed_ = false;
};

}  // namespace rest_fcgi::gateway

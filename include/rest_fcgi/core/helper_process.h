// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi {

/// A program that runs as another user, rest_fcgi_pam or rest_fcgi_run, connected by a socket. It is a child
/// process, or systemd started it for this connection. Moves only; not synchronized.
class HelperProcess {
 public:
  /// Starts the program at the absolute path `helper`, with the socket as its standard input and output, no
  /// other open files except standard error, and only PATH in its environment. For `unix:PATH`, connects to
  /// that socket within `timeout`, if root or this process's user listens there. Errors: unavailable, with
  /// the cause.
  [[nodiscard]] static Result<HelperProcess> start(const std::string& helper,
                                                   std::chrono::milliseconds timeout);

  HelperProcess(HelperProcess&& other) noexcept
      : socket_(std::move(other.socket_)), process_(std::exchange(other.process_, 0)) {}
  HelperProcess& operator=(HelperProcess&&) = delete;
  /// Closes the socket and kills the child process with its process group.
  ~HelperProcess();

  [[nodiscard]] int socket() const noexcept { return socket_.get(); }

 private:
  HelperProcess(UniqueFd socket, pid_t process) : socket_(std::move(socket)), process_(process) {}
  static Result<HelperProcess> spawn(const std::string& path);
  static Result<HelperProcess> connect(const std::string& path, std::chrono::milliseconds timeout);

  UniqueFd socket_;
  pid_t process_;  // 0: not a child process
};

/// Returns the path of a file or folder that is installed with the program: beside the running executable if
/// it exists, as in a build tree, else PREFIX/lib/rest_fcgi/`name` for PREFIX/bin/rest_fcgi.
[[nodiscard]] std::string shipped(const std::string& name);

}  // namespace rest_fcgi

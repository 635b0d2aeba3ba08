// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi {

/// A connection by a socket to a helper program: rest_fcgi_pam or rest_fcgi_run, which may run as another
/// user. The helper is a child process, or systemd starts the helper for this connection. Moves only; not
/// synchronized.
class HelperProcess {
 public:
  /// Starts a helper. If `helper` is an absolute path, starts this program with the socket as standard input
  /// and output. The program inherits standard error and the variable PATH, but no other open files and
  /// variables. If `helper` is `unix:PATH`, connects to that socket within `timeout`. The listener has to run
  /// as root or as this process's user. Errors: unavailable, with the cause.
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
  pid_t process_;  // 0 if the helper is not a child process
};

/// Returns the path of the file or folder `name` that is installed with this program. If `name` exists beside
/// the running executable, as in a build tree, returns that path. Otherwise returns
/// PREFIX/lib/rest_fcgi/`name` for the executable PREFIX/bin/rest_fcgi.
[[nodiscard]] std::string shipped(const std::string& name);

}  // namespace rest_fcgi

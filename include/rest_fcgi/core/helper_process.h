// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi {

/// A socket to the helper program rest_fcgi_pam or rest_fcgi_run, which may run as another user. The helper
/// is a child process or a service of systemd. A HelperProcess is not thread-safe.
class HelperProcess {
 public:
  /// Starts the program `helper` with the socket as standard input and output. If `helper` is `unix:PATH`,
  /// connects to the socket PATH. The process that listens on PATH must run as root or as this process's
  /// user. Errors: unavailable.
  static Result<HelperProcess> start(const std::string& helper, std::chrono::milliseconds timeout);

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
  pid_t process_;  // The child process. 0 if the helper is not a child process.
};

/// Returns the path of the file `name` that is installed with this program. Looks beside the executable
/// first, and then in `../lib/rest_fcgi/`.
[[nodiscard]] std::string shipped(const std::string& name);

}  // namespace rest_fcgi

// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi {

/// One of the programs that run as somebody else, rest_fcgi_pam or rest_fcgi_run, at the other end of a
/// socket: a process of ours, or one that an init system started for this connection. Moves; not
/// synchronized.
class HelperProcess {
 public:
  /// `helper` is the program's absolute path, which is started with the socket as its standard input and
  /// output, no other descriptor of ours but standard error, and no variable but PATH; or `unix:PATH`, which
  /// is connected within `patience`, and refused where neither root nor this process's user listens there.
  /// Errors: unavailable, with the cause.
  [[nodiscard]] static Result<HelperProcess> start(const std::string& helper,
                                                   std::chrono::milliseconds patience);

  HelperProcess(HelperProcess&& other) noexcept
      : socket_(std::move(other.socket_)), process_(std::exchange(other.process_, 0)) {}
  HelperProcess& operator=(HelperProcess&&) = delete;
  /// Closes the socket, and ends the process where it is ours, with all of its process group.
  ~HelperProcess();

  [[nodiscard]] int socket() const noexcept { return socket_.get(); }

 private:
  HelperProcess(UniqueFd socket, pid_t process) : socket_(std::move(socket)), process_(process) {}
  static Result<HelperProcess> spawn(const std::string& path);
  static Result<HelperProcess> connect(const std::string& path, std::chrono::milliseconds patience);

  UniqueFd socket_;
  pid_t process_;  // 0: none of ours
};

}  // namespace rest_fcgi

// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>

#include "auth/files.h"
#include "rest_fcgi/auth/pam_wire.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

/// One rest_fcgi_pam: a process of ours, or one behind a socket that an init system started for this
/// connection. It answers one request at a time. What we started ends when this goes, with all of its process
/// group. Moves; not synchronized.
class PamHelper {
 public:
  /// `helper` is the program's path, or `unix:PATH`. Errors: unavailable, with the cause.
  static Result<PamHelper> start(const std::string& helper, SteadyTime deadline);

  PamHelper(PamHelper&& other) noexcept;
  PamHelper& operator=(PamHelper&&) = delete;
  ~PamHelper();

  /// Sends a frame and waits for the answer, by the clock of this host. After an error it is good for nothing
  /// more. Errors: not_found, where it ended before it had all of the frame; timeout; internal.
  [[nodiscard]] Result<pam::Answer> ask(const WipedBytes& frame, SteadyTime deadline);

 private:
  PamHelper(UniqueFd socket, pid_t process) : socket_(std::move(socket)), process_(process) {}
  static Result<PamHelper> spawn(const std::string& path);
  static Result<PamHelper> connect(const std::string& path, SteadyTime deadline);
  Result<void> wait_for(short event, SteadyTime deadline) const;
  Result<void> send(std::string_view bytes, SteadyTime deadline) const;
  Result<WipedBytes> receive(std::size_t size, SteadyTime deadline) const;

  UniqueFd socket_;
  pid_t process_;  // 0: none of ours
};

}  // namespace rest_fcgi::auth

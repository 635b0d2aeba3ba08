// SPDX-License-Identifier: MIT
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::gateway {

/// During shutdown, a connection stays open for this time after its start or its last reply.
inline constexpr std::chrono::milliseconds kFarewell{1000};

template <class T>
bool set_option(int fd, int level, int name, const T& value) noexcept {
  return ::setsockopt(fd, level, name, &value, sizeof value) == 0;
}

/// Waits for SIGHUP, SIGTERM, SIGINT, SIGUSR1 or SIGUSR2, at most for `patience`. Returns the signal, or
/// std::nullopt if no signal arrives. REQUIRES: all threads block these signals.
std::optional<int> wait_for_signal(std::chrono::milliseconds patience);

/// Raises the limit of open files to `wanted`, or to the largest value that the system allows.
void raise_file_limit(std::size_t wanted);

/// Returns the limit of open files of this process (RLIMIT_NOFILE).
[[nodiscard]] std::size_t file_limit() noexcept;

/// Logs `where` and the type of the current exception. Does not log the text of the exception, which may
/// quote a request.
void log_exception(std::string_view where) noexcept;

}  // namespace rest_fcgi::gateway

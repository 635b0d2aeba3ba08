// SPDX-License-Identifier: MIT
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/unique_fd.h"

/// Small functions for sockets, signals and limits of the process.
namespace rest_fcgi::gateway {

/// During shutdown, a connection stays open for this time after its start or its last reply. A client that is
/// about to send a request is not cut off, but gets a reply with `Connection: close`.
inline constexpr std::chrono::milliseconds kFarewell{1000};

template <class T>
bool set_option(int fd, int level, int name, const T& value) noexcept {
  return ::setsockopt(fd, level, name, &value, sizeof value) == 0;
}

/// Waits for SIGHUP, SIGTERM, SIGINT or SIGUSR1, but at most for `patience`. Returns the signal. REQUIRES:
/// these signals are blocked in all threads.
std::optional<int> wait_for_signal(std::chrono::milliseconds patience);

/// Raises the limit of open files to `wanted`, or to the highest value that is allowed.
void raise_file_limit(std::size_t wanted);

/// Logs `where` and the type of the current exception. The text of the exception is not logged, because it
/// may quote a request. To be called in a catch block.
void log_exception(std::string_view where) noexcept;

}  // namespace rest_fcgi::gateway

// SPDX-License-Identifier: MIT
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/unique_fd.h"

/// The small change of POSIX that the gateway's files share, and what a serving process does to itself.
namespace rest_fcgi::gateway {

/// For how long after it was made, or last answered, a connection may bring another request although the
/// process ends: who uses it is not cut off in the middle of that, and hears that it was the last one.
inline constexpr std::chrono::milliseconds kFarewell{1000};

template <class T>
bool set_option(int fd, int level, int name, const T& value) noexcept {
  return ::setsockopt(fd, level, name, &value, sizeof value) == 0;
}

/// Waits for a signal that asks for something, SIGHUP, SIGTERM, SIGINT or SIGUSR1, for `patience` at most,
/// and returns it. REQUIRES: they are blocked in all threads.
std::optional<int> wait_for_signal(std::chrono::milliseconds patience);

/// Allows this process `wanted` open files, or as many as it may have.
void raise_file_limit(std::size_t wanted);

/// To be called where an exception is handled: logs that it came from `where`, and its type; its text may
/// quote a request. Without memory for that, nothing.
void log_exception(std::string_view where) noexcept;

}  // namespace rest_fcgi::gateway

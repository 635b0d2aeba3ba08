// SPDX-License-Identifier: MIT
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string_view>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/unique_fd.h"

/// The small change of POSIX that the gateway's files share, and what a serving process does to itself.
namespace rest_fcgi::gateway {

/// For how long after it was made, or last answered, a connection may bring another request although the
/// process ends: who uses it is not cut off in the middle of that, and hears that it was the last one.
inline constexpr std::chrono::milliseconds kFarewell{1000};

/// For poll(2) and epoll_wait(2), which count milliseconds in an int.
inline int poll_timeout(std::chrono::milliseconds wait) noexcept {
  return static_cast<int>(
      std::clamp<std::chrono::milliseconds::rep>(wait.count(), 0, std::numeric_limits<int>::max()));
}

/// Makes an eventfd(2) readable for whoever waits on it, and takes that back.
inline void signal_event(const UniqueFd& event) noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(event.get(), &one, sizeof one);
}
inline void clear_event(const UniqueFd& event) noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(event.get(), &count, sizeof count);
}

template <class T>
bool set_option(int fd, int level, int name, const T& value) noexcept {
  return ::setsockopt(fd, level, name, &value, sizeof value) == 0;
}

/// Waits for a signal that asks for something, SIGHUP, SIGTERM, SIGINT or SIGUSR1, and returns it. REQUIRES:
/// they are blocked in all threads.
int wait_for_signal();

/// Allows this process `wanted` open files, or as many as it may have.
void raise_file_limit(std::size_t wanted);

/// To be called where an exception is handled: logs that it came from `where`, and its type; its text may
/// quote a request. Without memory for that, nothing.
void log_exception(std::string_view where) noexcept;

}  // namespace rest_fcgi::gateway

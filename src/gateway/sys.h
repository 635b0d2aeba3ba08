// SPDX-License-Identifier: MIT
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "rest_fcgi/core/files.h"

/// The small change of POSIX that the gateway's files share.
namespace rest_fcgi::gateway {

/// For poll(2) and epoll_wait(2), which count milliseconds in an int.
inline int poll_timeout(std::chrono::milliseconds wait) noexcept {
  return static_cast<int>(
      std::clamp<std::chrono::milliseconds::rep>(wait.count(), 0, std::numeric_limits<int>::max()));
}

template <class T>
bool set_option(int fd, int level, int name, const T& value) noexcept {
  return ::setsockopt(fd, level, name, &value, sizeof value) == 0;
}

}  // namespace rest_fcgi::gateway

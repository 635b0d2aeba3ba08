// SPDX-License-Identifier: MIT
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

/// The small change of POSIX that the gateway's files share.
namespace rest_fcgi::gateway {

/// Owns a file descriptor and closes it; negative means none.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) noexcept : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~UniqueFd() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

  /// Gives the descriptor away; the caller, or who closed it already, is responsible from now on.
  int release() noexcept { return std::exchange(fd_, -1); }

  void reset(int fd = -1) noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

/// What an errno means. Thread-safe, which strerror(3) is not.
inline std::string errno_text(int error = errno) {
  return std::generic_category().message(error);
}

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

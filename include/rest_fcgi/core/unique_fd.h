// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <utility>

namespace rest_fcgi {

/// Owns a file descriptor and closes it on destruction. A negative number means that there is no descriptor.
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
  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
  explicit operator bool() const noexcept { return is_open(); }

  /// Gives up ownership of the descriptor. The caller has to close the returned descriptor.
  int release() noexcept { return std::exchange(fd_, -1); }

  void reset(int fd = -1) noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace rest_fcgi

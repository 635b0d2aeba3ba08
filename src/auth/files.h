// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

/// Owns an open file descriptor, or none. Moves; not synchronized.
class Fd {
 public:
  explicit Fd(int fd = -1) noexcept : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd();

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// What errno says, in words.
[[nodiscard]] std::string last_error();

enum class Links { follow, refuse };

/// All bytes of a regular file, `path` being relative to the directory `directory`. Never waits for a pipe or
/// device that somebody put in its place. Errors: not_found; internal, with the cause.
Result<WipedBytes> read_regular_file(int directory, const std::string& path, Links links,
                                     std::size_t max_size);

/// Writes all of it. Errors: internal, with the cause.
Result<void> write_all(int fd, std::string_view bytes);

}  // namespace rest_fcgi::auth

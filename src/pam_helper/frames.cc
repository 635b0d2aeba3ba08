// SPDX-License-Identifier: MIT
#include "pam_helper/frames.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "rest_fcgi/auth/pam_wire.h"

namespace rest_fcgi::pam_helper {
namespace {

bool read_all(int fd, char* to, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::read(fd, to, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

std::optional<WipedBytes> read_body(int fd) {
  std::array<char, auth::pam::kHeader> header{};
  if (!read_all(fd, header.data(), header.size())) return std::nullopt;
  const auto size = auth::pam::body_size({header.data(), header.size()});
  if (!size) return std::nullopt;
  WipedBytes body(*size);
  if (!read_all(fd, body.data(), body.size())) return std::nullopt;
  return body;
}

bool write_frame(int fd, const WipedBytes& frame) {
  for (std::size_t done = 0; done < frame.size();) {
    const ssize_t written = ::write(fd, frame.data() + done, frame.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace rest_fcgi::pam_helper

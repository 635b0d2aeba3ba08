// SPDX-License-Identifier: MIT
#pragma once

#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>

namespace rest_fcgi::helper {

/// Returns whether the process at the other end of standard input, a socket, runs as `user` or as root.
[[nodiscard]] inline bool is_peer(const std::string& user) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(STDIN_FILENO, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  const passwd* const entry = ::getpwnam(user.c_str());
  return peer.uid == 0 || (entry != nullptr && peer.uid == entry->pw_uid);
}

/// Returns false if the stream ends early or cannot be read.
[[nodiscard]] inline bool read_all(int fd, char* to, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::read(fd, to, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

/// Returns false on failure, for example because the other end is closed.
inline bool write_all(int fd, const char* from, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(fd, from, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    from += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace rest_fcgi::helper

// SPDX-License-Identifier: MIT
#include "auth/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::auth {
namespace {

Error failed(std::string cause) {
  return Error{ErrorKind::internal, std::move(cause)};
}

Result<WipedBytes> read_at_most(int fd, std::size_t max_size) {
  WipedBytes bytes;
  std::size_t filled = 0;
  for (;;) {
    if (filled == bytes.size()) bytes.resize(filled < 2048 ? 4096 : filled * 2);
    const ssize_t got = ::read(fd, bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(format("cannot be read: {}", errno_text()));
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
    if (filled > max_size) return failed(format("is larger than {} bytes", max_size));
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace

Result<WipedBytes> read_regular_file(int directory, const std::string& path, Links links,
                                     std::size_t max_size) {
  const int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | (links == Links::refuse ? O_NOFOLLOW : 0);
  const UniqueFd fd(::openat(directory, path.c_str(), flags));
  struct stat status {};
  if (!fd.is_open() || ::fstat(fd.get(), &status) != 0) {
    const ErrorKind kind = errno == ENOENT ? ErrorKind::not_found : ErrorKind::internal;
    return Error{kind, format("cannot be opened: {}", errno_text())};
  }
  if (!S_ISREG(status.st_mode)) return failed("is no regular file");
  return read_at_most(fd.get(), max_size);
}

}  // namespace rest_fcgi::auth

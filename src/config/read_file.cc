// SPDX-License-Identifier: MIT
#include "config/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::config {
namespace {

constexpr std::size_t kLargestFile = 16 * 1024 * 1024;

/// Closes a file descriptor when it goes.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

Error failure(const std::string& path, std::string_view text) {
  return {ErrorKind::configuration, format("{}: {}", path, text)};
}

Error cannot_read(const std::string& path, int cause) {
  return failure(path, format("cannot read this configuration file: {}", std::strerror(cause)));
}

Result<void> check(const std::string& path, const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return failure(path, "found no regular file, expected a configuration file");
  if ((status.st_mode & S_IWOTH) != 0) {
    return failure(path,
                   format("found mode {:04o}: any user may change this configuration file; expected a mode "
                          "without that, such as after chmod o-w",
                          status.st_mode & 07777U));
  }
  if (static_cast<std::size_t>(status.st_size) > kLargestFile) {
    return failure(path,
                   format("found a file of {} bytes, expected at most {}", status.st_size, kLargestFile));
  }
  return {};
}

}  // namespace

Result<WipedBytes> read_file(const std::string& path) {
  // Without O_NONBLOCK, a FIFO would keep us here for good.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return cannot_read(path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return cannot_read(path, errno);
  if (auto checked = check(path, status); !checked) return std::move(checked).error();
  WipedBytes text(static_cast<std::size_t>(status.st_size));
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_read(path, errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

}  // namespace rest_fcgi::config

// SPDX-License-Identifier: MIT
#include "returner/spool_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::returner {
namespace {

constexpr std::string_view kSuffix = "-spool-";

Error unusable(const std::string& path, int error) {
  return {ErrorKind::unavailable, format("the spool {} cannot be made: {}", path, std::strerror(error))};
}

bool is_ours(int fd, struct stat& status) {
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && !distrust(status, {.of_root = false});
}

std::vector<std::string> spools_of(const std::string& database) {
  const std::filesystem::path path(database);
  const std::string prefix = path.filename().string() + std::string(kSuffix);
  std::vector<std::string> found;
  std::error_code error;
  std::filesystem::directory_iterator entries(path.parent_path(), error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    if (entries->path().filename().string().starts_with(prefix)) found.push_back(entries->path().string());
  }
  return found;
}

}  // namespace

Result<std::unique_ptr<SpoolFile>> SpoolFile::create(const std::string& database, std::size_t size) {
  std::unique_ptr<SpoolFile> file;
  // Whoever looks for what dead processes left may come before our lock, and take it away.
  while (file == nullptr || file->is_gone()) {
    std::string path = database + std::string(kSuffix) + "XXXXXX";
    const int fd = ::mkostemp(path.data(), O_CLOEXEC);
    if (fd < 0) return unusable(path, errno);
    file.reset(new SpoolFile(fd, std::move(path)));
    if (::flock(fd, LOCK_EX) != 0) return unusable(file->path(), errno);
  }
  int error = ::posix_fallocate(file->fd_, 0, static_cast<off_t>(size));
  if (error == 0 && !file->map(size)) error = errno;
  if (error == 0) return file;
  file->remove();
  return unusable(file->path(), error);
}

std::vector<std::unique_ptr<SpoolFile>> SpoolFile::left_behind(const std::string& database) {
  std::vector<std::unique_ptr<SpoolFile>> found;
  for (std::string& path : spools_of(database)) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) continue;
    std::unique_ptr<SpoolFile> file(new SpoolFile(fd, std::move(path)));
    struct stat status {};
    if (!is_ours(fd, status) || ::flock(fd, LOCK_EX | LOCK_NB) != 0 || file->is_gone()) continue;
    if (status.st_size == 0) {
      file->remove();  // its process ended before it was anything
    } else if (file->map(static_cast<std::size_t>(status.st_size))) {
      found.push_back(std::move(file));
    }
  }
  return found;
}

SpoolFile::~SpoolFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
  ::close(fd_);
}

bool SpoolFile::map(std::size_t size) noexcept {
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory == MAP_FAILED) return false;
  data_ = static_cast<char*>(memory);
  size_ = size;
  return true;
}

Result<void> SpoolFile::sync() {
  bool done = ::msync(data_, size_, MS_SYNC) == 0;
  // Its name, too: it may be new.
  const int folder = ::open(std::filesystem::path(path_).parent_path().c_str(), O_DIRECTORY | O_CLOEXEC);
  done = folder >= 0 && ::fsync(folder) == 0 && done;
  const int error = errno;
  if (folder >= 0) ::close(folder);
  if (done) return {};
  return Error{ErrorKind::unavailable,
               format("the spool {} is not on the disk: {}", path_, std::strerror(error))};
}

bool SpoolFile::is_gone() const noexcept {
  struct stat status {};
  return ::fstat(fd_, &status) != 0 || status.st_nlink == 0;
}

void SpoolFile::remove() noexcept {
  ::unlink(path_.c_str());
}

}  // namespace rest_fcgi::returner

// SPDX-License-Identifier: MIT
#include "auth/token_dir.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::auth {
namespace {

Error unusable(const std::string& path, std::string_view cause) {
  return {ErrorKind::configuration, format("token_dir: {} {}", path, cause)};
}

bool made(const std::string& path) {
  return ::mkdir(path.c_str(), S_IRWXU) == 0 || errno == EEXIST;
}

/// Errors: as the system says in errno, by a plain false.
bool make_with_parent(const std::string& path) {
  if (made(path)) return true;
  const std::size_t slash = path.rfind('/');
  if (errno != ENOENT || slash == std::string::npos || slash == 0) return false;
  return made(path.substr(0, slash)) && made(path);
}

}  // namespace

Result<UniqueFd> open_token_dir(const std::string& path) {
  const std::string trimmed = path.substr(0, path.find_last_not_of('/') + 1);
  if (!make_with_parent(trimmed)) return unusable(path, format("cannot be made: {}", last_error()));
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!fd.is_open() || ::fstat(fd.get(), &status) != 0) {
    return unusable(path, format("cannot be opened: {}", last_error()));
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return unusable(path, format("has mode {:04o}, so that others could put tokens into it; 0700 is right",
                                 status.st_mode & 07777));
  }
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return unusable(path,
                    format("belongs to user id {}, not to this process's {}", status.st_uid, ::geteuid()));
  }
  return fd;
}

}  // namespace rest_fcgi::auth

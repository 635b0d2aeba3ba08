// SPDX-License-Identifier: MIT
#include "returner/private_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::returner {
namespace {

Error refused(std::string message) {
  return {ErrorKind::unavailable, std::move(message)};
}

Error failed(std::string_view what) {
  return refused(format("{}: {}", what, std::strerror(errno)));
}

bool make_directory(const std::string& path) {
  return ::mkdir(path.c_str(), S_IRWXU) == 0 || errno == EEXIST;
}

/// Also the folder above it; errors stand in errno.
bool make_with_parent(const std::string& path) {
  if (make_directory(path)) return true;
  const std::size_t slash = path.rfind('/');
  if (errno != ENOENT || slash == std::string::npos || slash == 0) return false;
  return make_directory(path.substr(0, slash)) && make_directory(path);
}

}  // namespace

Result<void> make_private_folder(const std::string& directory) {
  if (!make_with_parent(directory)) return failed(format("its folder {} cannot be made", directory));
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) return failed(format("its folder {}", directory));
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return refused(format("its folder {} belongs to user {}, who could put files into it; user {} is right",
                          directory, status.st_uid, ::geteuid()));
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return refused(
        format("its folder {} has mode {:04o}, so that others could put files into it; 0700 is right",
               directory, status.st_mode & 07777));
  }
  return {};
}

}  // namespace rest_fcgi::returner

// SPDX-License-Identifier: MIT
#include "master/embedded/modules/replies.h"

#include <cerrno>
#include <system_error>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

const char* python_name(int error) {
  switch (error) {
    case ENOENT:
      return "FileNotFoundError";
    case EACCES:
    case EPERM:
      return "PermissionError";
    case EEXIST:
      return "FileExistsError";
    case EISDIR:
      return "IsADirectoryError";
    case ENOTDIR:
      return "NotADirectoryError";
    default:
      return "OSError";
  }
}

}  // namespace

Raised os_error(int error, const std::string& path) {
  return {Raised::Kind::exception, python_name(error),
          format("[Errno {}] {}: '{}'", error, std::generic_category().message(error), path)};
}

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#include "master/embedded/modules/which.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace rest_fcgi::embedded {

bool is_executable(const std::string& path) {
  struct stat status = {};
  return path.find('\0') == std::string::npos && ::stat(path.c_str(), &status) == 0 &&
         S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::optional<std::string> which(const std::string& name) {
  if (name.empty()) return std::nullopt;
  if (is_executable(name)) return name;
  const char* own = std::getenv("PATH");
  const std::string path = std::string(own == nullptr ? "" : own) +
                           ":/sbin:/bin:/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin";
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string candidate = path.substr(begin, end - begin) + '/' + name;
    if (end > begin && is_executable(candidate)) return candidate;
    begin = end + 1;
  }
  return std::nullopt;
}

}  // namespace rest_fcgi::embedded

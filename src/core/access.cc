// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/access.h"

#include <unistd.h>

#include <filesystem>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/users.h"

namespace rest_fcgi {

std::string shown_user(uid_t uid) {
  return user_name(uid).value_or(std::to_string(uid));
}

std::string shown_group(gid_t gid) {
  return group_name(gid).value_or(std::to_string(gid));
}

std::string describe_access(const struct stat& status) {
  return format("mode {:04o}, owner {}, group {}", status.st_mode & 07777u, shown_user(status.st_uid),
                shown_group(status.st_gid));
}

std::string refused_folder(const std::string& path) {
  struct stat status {};
  for (std::filesystem::path folder = path; folder.has_relative_path();) {
    folder = folder.parent_path();
    if (::stat(folder.c_str(), &status) != 0) continue;
    return format(
        "no permission to search the folder {}, which has {}: the user {} of this process needs the "
        "permission x",
        folder.string(), describe_access(status), shown_user(::geteuid()));
  }
  return format("no permission to look at {}", path);
}

std::string why_unreadable(const std::string& path, int error) {
  std::string text = errno_text(error);
  if (error != EACCES) return text;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return format("{}: {}", text, refused_folder(path));
  return format(
      "{}: no permission to read {}, which has {}: the user {} of this process needs the permission {}", text,
      path, describe_access(status), shown_user(::geteuid()), S_ISDIR(status.st_mode) ? "rx" : "r");
}

}  // namespace rest_fcgi

// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/access.h"

#include <fcntl.h>
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

std::string why_unwritable(const std::string& path, int error) {
  std::string text = errno_text(error);
  if (error != EACCES) return text;
  struct stat status {};
  for (std::filesystem::path nearest = path; nearest.has_relative_path(); nearest = nearest.parent_path()) {
    if (::stat(nearest.c_str(), &status) != 0) continue;
    return format("{}: {} has {}: the user {} of this process needs the permission {}", text,
                  nearest.string(), describe_access(status), shown_user(::geteuid()),
                  S_ISDIR(status.st_mode) ? "wx" : "rw");
  }
  return text;
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

std::optional<std::string> why_not_creatable(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) {
    if (errno == EACCES) return refused_folder(folder);
    return format("found no folder {} ({}), expected it: create the folder, or change the path", folder,
                  errno_text());
  }
  if (!S_ISDIR(status.st_mode)) return format("found the file {}, expected a folder", folder);
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return std::nullopt;
  return format("no files can be created in the folder {}: {}", folder, why_unwritable(folder));
}

}  // namespace rest_fcgi

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

std::string refused_folder(const std::string& path, const struct stat& status) {
  if (status.st_uid == ::geteuid() && (status.st_mode & S_IXUSR) == 0) {
    return format(
        "no permission to search the folder {}, which has {}: its owner, the responder's user {}, "
        "needs that right, say by chmod u+x {}",
        path, describe_access(status), shown_user(::geteuid()), path);
  }
  return format(
      "no permission to search the folder {}, which has {}: the responder's user {} needs that "
      "right (x), say by the group {}",
      path, describe_access(status), shown_user(::geteuid()), shown_group(status.st_gid));
}

std::string refused_file(const std::string& path, const struct stat& status) {
  const std::string user = shown_user(::geteuid());
  const std::string group = shown_group(status.st_gid);
  const std::string found = format("no permission to read {}, which has {}: ", path, describe_access(status));
  const bool is_folder = S_ISDIR(status.st_mode);
  const mode_t needed = is_folder ? S_IRUSR | S_IXUSR : S_IRUSR;
  const std::string_view right = is_folder ? "rx" : "r";
  if (status.st_uid == ::geteuid() && (status.st_mode & needed) != needed) {
    return found + format("its owner, the responder's user {}, needs that right, say by chmod u+{} {}", user,
                          right, path);
  }
  if ((status.st_mode & (needed >> 3)) == needed >> 3) {
    return found + format("the responder's user {} needs to be in the group {}", user, group);
  }
  return found + format("the responder's user {} needs that right ({}), say by chmod g+{} and the group {}",
                        user, right, right, group);
}

std::string why_unreadable(const std::string& path, int error) {
  std::string text = errno_text(error);
  if (error != EACCES) return text;
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return format("{}: {}", text, refused_file(path, status));
  // The first folder towards the root that can be examined is the one without search permission.
  for (std::filesystem::path folder = path; folder.has_relative_path();) {
    folder = folder.parent_path();
    if (::stat(folder.c_str(), &status) != 0) continue;
    return format("{}: {}", text, refused_folder(folder.string(), status));
  }
  return text;
}

}  // namespace rest_fcgi

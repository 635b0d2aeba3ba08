// SPDX-License-Identifier: MIT
#include "master/salt/events/refused_path.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::salt {
namespace {

/// Its name, or its number where it has none.
std::string user_name(uid_t uid) {
  passwd record{};
  passwd* found = nullptr;
  std::array<char, 4096> room{};
  const int failed = ::getpwuid_r(uid, &record, room.data(), room.size(), &found);
  return failed == 0 && found != nullptr ? found->pw_name : std::to_string(uid);
}

std::string group_name(gid_t gid) {
  group record{};
  group* found = nullptr;
  std::array<char, 65536> room{};  // it holds the members as well
  const int failed = ::getgrgid_r(gid, &record, room.data(), room.size(), &found);
  return failed == 0 && found != nullptr ? found->gr_name : std::to_string(gid);
}

/// "mode 0660, owner root, group salt".
std::string access_of(const struct stat& status) {
  return format("mode {:04o}, owner {}, group {}", status.st_mode & 07777u, user_name(status.st_uid),
                group_name(status.st_gid));
}

}  // namespace

std::string refused_socket(const std::string& path, const struct stat& status) {
  std::string text = format("no permission to connect to {}, which has {}: ", path, access_of(status));
  if ((status.st_mode & S_IWGRP) == 0) {
    return text +
           "a master opens it to its group only where its configuration has external_auth or publisher_acl";
  }
  return text + format("the responder's user {} needs to be in the group {}", user_name(::geteuid()),
                       group_name(status.st_gid));
}

std::string refused_folder(const std::string& path, const struct stat& status) {
  return format(
      "no permission to search the folder {}, which has {}: the responder's user {} needs that "
      "right (x), say by the group {}",
      path, access_of(status), user_name(::geteuid()), group_name(status.st_gid));
}

std::string refused_path(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return refused_socket(path, status);
  // The first folder on the way up that can be looked at is the one that cannot be searched.
  for (std::filesystem::path folder = path; folder.has_relative_path();) {
    folder = folder.parent_path();
    if (::stat(folder.c_str(), &status) == 0) return refused_folder(folder.string(), status);
  }
  return format("no permission to look at {}", path);
}

}  // namespace rest_fcgi::salt

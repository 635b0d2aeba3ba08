// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <string>

/// Texts for messages about the permissions of files. They may query the sources in nsswitch.conf.
/// Thread-safe.
namespace rest_fcgi {

/// Returns the name of a user or group, or its number if it has no name.
[[nodiscard]] std::string shown_user(uid_t uid);
[[nodiscard]] std::string shown_group(gid_t gid);

/// Returns mode, owner and group: "mode 0660, owner root, group salt".
[[nodiscard]] std::string describe_access(const struct stat& status);

/// Returns a text about a path that this process may not examine. It names the folder above that this process
/// may not search: the first one towards the root that can be examined.
[[nodiscard]] std::string refused_folder(const std::string& path);

/// Returns why a file cannot be opened for reading. For EACCES the text also names the file or folder without
/// permission, its mode, owner and group, and the right that this process needs.
[[nodiscard]] std::string why_unreadable(const std::string& path, int error = errno);

}  // namespace rest_fcgi

// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <string>

/// Texts for messages about the permissions of files. These functions look up user and group names in the
/// sources of nsswitch.conf. Thread-safe.
namespace rest_fcgi {

/// Returns the name of a user or group, or the number if there is no name for it.
[[nodiscard]] std::string shown_user(uid_t uid);
[[nodiscard]] std::string shown_group(gid_t gid);

/// Returns a text with mode, owner and group, such as "mode 0660, owner root, group salt".
[[nodiscard]] std::string describe_access(const struct stat& status);

/// Returns a message about a path that stat(2) refuses to this process. The message names the folder above
/// the path where the search permission is missing. This is the nearest folder above for which stat(2)
/// succeeds.
[[nodiscard]] std::string refused_folder(const std::string& path);

/// Returns why a file cannot be opened for reading. For EACCES, the text names the file or folder that
/// refuses access. It also has the mode, owner and group of this file or folder, and the right that this
/// process needs.
[[nodiscard]] std::string why_unreadable(const std::string& path, int error = errno);

}  // namespace rest_fcgi

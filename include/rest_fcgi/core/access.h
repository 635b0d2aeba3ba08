// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <optional>
#include <string>

/// Texts for messages about the permissions of files. The functions are thread-safe.
namespace rest_fcgi {

/// Returns the name of a user or group. If the id has no name, returns the number.
[[nodiscard]] std::string shown_user(uid_t uid);
[[nodiscard]] std::string shown_group(gid_t gid);

[[nodiscard]] std::string describe_access(const struct stat& status);

/// Returns a message for a path on which stat(2) fails with EACCES. The message names the nearest parent
/// folder on which stat(2) succeeds.
[[nodiscard]] std::string refused_folder(const std::string& path);

/// Returns why a file cannot be opened for reading. For EACCES, the text names the file or folder that
/// refuses access and the right that this process needs.
[[nodiscard]] std::string why_unreadable(const std::string& path, int error = errno);

/// Returns why this process cannot create the file `path`: its folder is missing, or refuses new files.
/// Returns std::nullopt if the folder accepts new files.
[[nodiscard]] std::optional<std::string> why_not_creatable(const std::string& path);

/// Returns why a file or folder cannot be made or written. For EACCES, the text has the owner of the path or
/// of the nearest folder above it, and the right that this process needs.
[[nodiscard]] std::string why_unwritable(const std::string& path, int error = errno);

}  // namespace rest_fcgi

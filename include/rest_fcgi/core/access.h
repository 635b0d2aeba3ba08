// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <string>

/// Texts for messages that name the owner and mode of a file. They may ask the sources in nsswitch.conf.
/// Thread-safe.
namespace rest_fcgi {

/// The name of a user or group, or the number where it has no name.
[[nodiscard]] std::string shown_user(uid_t uid);
[[nodiscard]] std::string shown_group(gid_t gid);

/// "mode 0660, owner root, group salt".
[[nodiscard]] std::string access_of(const struct stat& status);

/// Says that this process may not search a folder, and which right it needs.
[[nodiscard]] std::string refused_folder(const std::string& path, const struct stat& status);

/// Says that this process may not read a file or folder, and which group or right it needs.
[[nodiscard]] std::string refused_file(const std::string& path, const struct stat& status);

/// Returns why a file cannot be opened for reading: what the system says to `error`, and for EACCES which
/// file or folder refuses this process, its mode, owner and group, and what this process needs.
[[nodiscard]] std::string why_unreadable(const std::string& path, int error = errno);

}  // namespace rest_fcgi

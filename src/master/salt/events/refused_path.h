// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <string>

namespace rest_fcgi::salt {

/// What keeps this process from connecting to the unix socket at `path`, where the system said EACCES: a
/// folder that it may not search, or the socket itself; whose that is, and what the responder's user needs.
/// May ask whatever nsswitch.conf names. Thread-safe.
[[nodiscard]] std::string refused_path(const std::string& path);

/// The same sentences about a socket and a folder of which the owner, group and mode are known.
[[nodiscard]] std::string refused_socket(const std::string& path, const struct stat& status);
[[nodiscard]] std::string refused_folder(const std::string& path, const struct stat& status);

}  // namespace rest_fcgi::salt

// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace rest_fcgi::auth {

/// The names of the groups that the system has a user in, their own among them, sorted; none where there is
/// no such user. May ask whatever nsswitch.conf names. Thread-safe.
[[nodiscard]] std::vector<std::string> system_groups(const std::string& username);

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace rest_fcgi::pam_helper {

/// Why logins through this service cannot work in a process like this one, as far as its files tell; empty
/// where nothing speaks against it. `confdir` as for `verify`.
[[nodiscard]] std::string why_not(const std::string& service, const std::string& confdir);

}  // namespace rest_fcgi::pam_helper

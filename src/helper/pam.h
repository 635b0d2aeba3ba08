// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "rest_fcgi/auth/pam_wire.h"

namespace rest_fcgi::helper {

/// Asks the PAM stack of a service whether a user's password is good and their account may be used now. Both
/// always: a locked or expired account has a good password, too. `confdir` is where services are, empty for
/// the system's places. One at a time: PAM's modules are not thread-safe.
[[nodiscard]] auth::pam::Answer verify(const auth::pam::Request& request, const std::string& confdir);

/// Why logins through this service cannot work in a process like this one, as far as its files tell; empty
/// where nothing speaks against it. `confdir` as for `verify`.
[[nodiscard]] std::string why_not(const std::string& service, const std::string& confdir);

}  // namespace rest_fcgi::helper

// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "rest_fcgi/auth/pam_wire.h"

namespace rest_fcgi::pam_helper {

/// Asks the PAM stack of a service whether a user's password is good and their account may be used now. Both
/// always: a locked or expired account has a good password, too. `confdir` is where services are, empty for
/// the system's places. One at a time: PAM's modules are not thread-safe.
[[nodiscard]] auth::pam::Answer verify(const auth::pam::Request& request, const std::string& confdir);

}  // namespace rest_fcgi::pam_helper

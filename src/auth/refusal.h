// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "auth/login_guard.h"
#include "rest_fcgi/auth/credentials.h"
#include "rest_fcgi/core/result.h"

/// How credentials are looked at and turned down, whoever decides whether they are good.
namespace rest_fcgi::auth {

/// As much of something that a caller chose as a log line shows.
[[nodiscard]] std::string_view for_log(std::string_view input);

/// What every caller gets to see, whatever was wrong; the log has the stage and the cause.
[[nodiscard]] Error refused(std::string_view stage, std::string_view cause, const Credentials& credentials);

/// What no back end should have to see of a user's credentials, nor any hash; empty where there is nothing of
/// that kind.
[[nodiscard]] std::string_view beyond_limits(const Credentials& credentials);

/// Under what a failure of these credentials is counted. Borrows.
[[nodiscard]] LoginGuard::Who who_of(const Credentials& credentials);

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/http/application.h"

namespace rest_fcgi::netapi {

/// The line of one request for Salt's `log_access_file`, as CherryPy writes it, with a time zone: the
/// combined format of Apache's logs, `ADDRESS - - [TIME] "REQUEST" STATUS BYTES "REFERER" "USER-AGENT"`. What
/// could be a token, and what a query says about who somebody is, stands there as `***`; quotes, backslashes
/// and what is not printable ASCII is escaped as Apache does it, so that no request can forge a line.
[[nodiscard]] std::string access_line(const http::Environ& environ, const http::Response& response,
                                      WallTime when);

}  // namespace rest_fcgi::netapi

// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string>

namespace rest_fcgi::http {

/// A point in time as headers have it (RFC 9110, 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
[[nodiscard]] std::string http_date(std::chrono::system_clock::time_point time);

}  // namespace rest_fcgi::http

// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace rest_fcgi::http {

/// The statuses (RFC 9110) that we answer with.
enum class Status {
  ok = 200,
  bad_request = 400,
  unauthorized = 401,
  not_found = 404,
  method_not_allowed = 405,
  not_acceptable = 406,
  content_too_large = 413,
  too_many_requests = 429,
  internal_server_error = 500,
  service_unavailable = 503,
  gateway_timeout = 504,
  insufficient_storage = 507,
};

/// The reason phrase, such as `Not Found`.
[[nodiscard]] std::string_view reason(Status status) noexcept;

}  // namespace rest_fcgi::http

// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "rest_fcgi/http/application.h"

namespace rest_fcgi::gateway {

/// Returns `text` without control characters, so that a header's value cannot add another header.
[[nodiscard]] std::string without_control(std::string_view text);

/// Appends a response's headers, with `Content-Length` if the body is a text and the status allows a body.
void append_headers(const http::Response& response, std::string& head);

/// Returns the response of `application`. Logs an exception and returns status 500 in its place.
[[nodiscard]] http::Response answer_of(const http::Application& application, const http::Environ& environ);

}  // namespace rest_fcgi::gateway

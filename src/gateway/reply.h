// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "rest_fcgi/http/application.h"

namespace rest_fcgi::gateway {

/// Returns `text` without control characters, which a header must not have: no text can add a header.
[[nodiscard]] std::string without_control(std::string_view text);

/// Adds a line for each of the response's headers, and `Content-Length` where its body is a text and its
/// status lets it have one.
void append_headers(const http::Response& response, std::string& head);

/// What `application` answers; 500, and a line in the log, where it throws.
[[nodiscard]] http::Response answer_of(const http::Application& application, const http::Environ& environ);

}  // namespace rest_fcgi::gateway

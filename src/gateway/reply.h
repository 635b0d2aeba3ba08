// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "rest_fcgi/http/application.h"

namespace rest_fcgi::gateway {

/// Returns `text` without control characters, because they could add another header.
[[nodiscard]] std::string without_control(std::string_view text);

/// Appends a response's headers. For a text body that the status allows, they have `Content-Length`.
void append_headers(const http::Response& response, std::string& head);

/// Returns the response of `application`. If it throws, logs the exception and returns status 500.
[[nodiscard]] http::Response answer_of(const http::Application& application, const http::Environ& environ);

}  // namespace rest_fcgi::gateway

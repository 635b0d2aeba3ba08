// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "rest_fcgi/http/application.h"

namespace rest_fcgi::gateway {

/// Adds a line for each of the response's headers, and `Content-Length` where its body is a text and its
/// status lets it have one. Control characters, which the seam forbids, are dropped, so that no text can add
/// a header.
void append_headers(const http::Response& response, std::string& head);

/// What `application` answers; 500, and a line in the log, where it throws.
[[nodiscard]] http::Response answer_of(const http::Application& application, const http::Environ& environ);

}  // namespace rest_fcgi::gateway

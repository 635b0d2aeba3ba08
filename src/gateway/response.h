// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "rest_fcgi/http/application.h"

namespace rest_fcgi::gateway {

/// Replaces `head` by the head of a CGI response (RFC 3875): `Status`, the response's headers,
/// `Content-Length` and the blank line. Control characters in headers, which the seam forbids, are dropped,
/// so that no text can add a header.
void write_head(const http::Response& response, std::string& head);

}  // namespace rest_fcgi::gateway

// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "rest_fcgi/http/environ.h"
#include "rest_fcgi/http/status.h"

namespace rest_fcgi::http {

/// What an application answers. Value type.
struct Response {
  Status status = Status::ok;
  /// Names and values as they go out. The front end adds Content-Length, and drops the body of a reply to
  /// HEAD. REQUIRES: no control characters in them.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

/// A WSGI-like callable: the seam between front ends (FastCGI today) and what answers. It is called by many
/// threads at once, works on one request until its Response is whole, and throws nothing.
using Application = std::function<Response(const Environ&)>;

}  // namespace rest_fcgi::http

// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "rest_fcgi/http/application.h"

namespace rest_fcgi::netapi {

/// An application and the path that its URLs are below.
struct Mount {
  std::string path;  ///< such as `/api`; `/` is everything
  http::Application application;
};

/// An application that hands each request to the one that is mounted deepest above its path, with SCRIPT_NAME
/// and PATH_INFO as WSGI has them (PEP 3333): what matched stands in the first, the rest in the second. Where
/// nothing is mounted the answer is 404. The path of a request is PATH_INFO where that is sent, else that of
/// REQUEST_URI. REQUIRES: paths begin with a slash, and end with none but `/`.
[[nodiscard]] http::Application mounted(std::vector<Mount> mounts);

}  // namespace rest_fcgi::netapi

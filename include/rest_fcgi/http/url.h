// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "rest_fcgi/http/application.h"

namespace rest_fcgi::http {

/// The decoded path of a request: SCRIPT_NAME and PATH_INFO of WSGI.
struct Path {
  std::string above;  ///< `above` is the path at which the application is mounted, such as `/salt`.
  std::string below;  ///< `below` is the path inside the application, such as `/minions`.
};

/// Returns the path of a request from SCRIPT_NAME and PATH_INFO, which the front end has decoded (PEP 3333).
/// If PATH_INFO is empty, decodes the path of REQUEST_URI.
[[nodiscard]] Path path_of(const Environ& environ);

}  // namespace rest_fcgi::http

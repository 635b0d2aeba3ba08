// SPDX-License-Identifier: MIT
#include "rest_fcgi/http/url.h"

#include "rest_fcgi/core/text.h"

namespace rest_fcgi::http {

Path path_of(const Environ& environ) {
  if (const std::string_view path = environ.get("PATH_INFO"); !path.empty()) {
    return {std::string(environ.get("SCRIPT_NAME")), std::string(path)};
  }
  const std::string_view uri = environ.get("REQUEST_URI");
  return {"", uri.empty() ? "/" : percent_decoded(uri.substr(0, uri.find('?')))};
}

}  // namespace rest_fcgi::http

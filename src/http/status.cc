// SPDX-License-Identifier: MIT
#include "rest_fcgi/http/status.h"

namespace rest_fcgi::http {

std::string_view reason(Status status) noexcept {
  switch (status) {
    case Status::ok:
      return "OK";
    case Status::bad_request:
      return "Bad Request";
    case Status::unauthorized:
      return "Unauthorized";
    case Status::not_found:
      return "Not Found";
    case Status::method_not_allowed:
      return "Method Not Allowed";
    case Status::not_acceptable:
      return "Not Acceptable";
    case Status::content_too_large:
      // RFC 9110 says "Content Too Large"; this is what callers of Salt's rest_cherrypy know.
      return "Request Entity Too Large";
    case Status::too_many_requests:
      return "Too Many Requests";
    case Status::internal_server_error:
      return "Internal Server Error";
    case Status::service_unavailable:
      return "Service Unavailable";
    case Status::gateway_timeout:
      return "Gateway Timeout";
    case Status::insufficient_storage:
      return "Insufficient Storage";
  }
  return "Unknown";
}

}  // namespace rest_fcgi::http

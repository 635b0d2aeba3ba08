// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/core/result.h"

/// What front ends hand to what answers, and get back.
namespace rest_fcgi::http {

/// One request as CGI (RFC 3875) and WSGI (PEP 3333) describe it: variables by name, and the body.
/// Holds copies of the variables, made anew for each request, so that nothing carries over from one to the
/// next; the body is borrowed from whoever made the Environ, who also wipes it. Not synchronized.
class Environ {
 public:
  /// The value of a variable such as `CONTENT_TYPE` or `HTTP_ACCEPT`; empty where it was not sent, which CGI
  /// treats as the same.
  [[nodiscard]] std::string_view get(std::string_view name) const noexcept;

  /// Of two values for one name the last counts.
  void set(std::string_view name, std::string_view value);

  /// Forgets all variables and the body. Memory is kept for the next request, unless it is much.
  void clear() noexcept;

  /// The body, or why there is none: too_large beyond `max_request_body_size`; malformed where it is shorter
  /// or longer than CONTENT_LENGTH says, or that is no number. The application says so in its own format.
  Result<std::string_view> body = std::string_view();

 private:
  struct Variable {
    std::uint32_t name, name_size, value, value_size;  // into text_
  };
  std::string text_;
  std::vector<Variable> variables_;
};

/// The statuses (RFC 9110) that we answer with.
enum class Status {
  ok = 200,
  bad_request = 400,
  unauthorized = 401,
  not_found = 404,
  method_not_allowed = 405,
  not_acceptable = 406,
  content_too_large = 413,
  too_many_requests = 429,
  internal_server_error = 500,
  service_unavailable = 503,
  gateway_timeout = 504,
  insufficient_storage = 507,
};

/// The reason phrase, such as `Not Found`.
[[nodiscard]] std::string_view reason(Status status) noexcept;

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

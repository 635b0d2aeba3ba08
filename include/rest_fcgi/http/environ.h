// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/result.h"

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

}  // namespace rest_fcgi::http

// SPDX-License-Identifier: MIT
#include "gateway/reply.h"

#include <string_view>

#include "gateway/sys.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::gateway {
namespace {

void append_clean(std::string_view text, std::string& out) {
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code >= 0x20 && code != 0x7F) out += c;
  }
}

}  // namespace

void append_headers(const http::Response& response, std::string& head) {
  for (const auto& [name, value] : response.headers) {
    append_clean(name, head);
    head.append(": ");
    append_clean(value, head);
    head.append("\r\n");
  }
  const auto* text = std::get_if<std::string>(&response.body);
  if (text != nullptr && http::may_have_body(response.status)) {
    head.append(format("Content-Length: {}\r\n", text->size()));
  }
}

http::Response answer_of(const http::Application& application, const http::Environ& environ) {
  try {
    return application(environ);
  } catch (...) {
    log_exception("the application threw, and the request is answered with 500");
    return {http::Status::internal_server_error, {}, {}};
  }
}

}  // namespace rest_fcgi::gateway

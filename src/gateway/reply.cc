// SPDX-License-Identifier: MIT
#include "gateway/reply.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "gateway/sys.h"

namespace rest_fcgi::gateway {
namespace {

constexpr auto is_control = [](char c) {
  const auto code = static_cast<unsigned char>(c);
  return code < 0x20 || code == 0x7F;
};

void append_clean(std::string_view text, std::string& out) {
  const auto clean = std::find_if(text.begin(), text.end(), is_control);
  out.append(text.begin(), clean);
  std::remove_copy_if(clean, text.end(), std::back_inserter(out), is_control);
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
    head.append("Content-Length: ").append(std::to_string(text->size())).append("\r\n");
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

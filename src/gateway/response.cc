// SPDX-License-Identifier: MIT
#include "gateway/response.h"

#include <array>
#include <charconv>
#include <string_view>

#include "rest_fcgi/http/status.h"

namespace rest_fcgi::gateway {
namespace {

void append_number(std::size_t value, std::string& out) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}

void append_clean(std::string_view text, std::string& out) {
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code >= 0x20 && code != 0x7F) out += c;
  }
}

}  // namespace

void write_head(const http::Response& response, std::string& head) {
  head.assign("Status: ");
  append_number(static_cast<std::size_t>(response.status), head);
  head.append(" ").append(http::reason(response.status)).append("\r\n");
  for (const auto& [name, value] : response.headers) {
    append_clean(name, head);
    head.append(": ");
    append_clean(value, head);
    head.append("\r\n");
  }
  head.append("Content-Length: ");
  append_number(response.body.size(), head);
  head.append("\r\n\r\n");
}

}  // namespace rest_fcgi::gateway

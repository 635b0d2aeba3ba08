// SPDX-License-Identifier: MIT
#include "rest_fcgi/http/url.h"

namespace rest_fcgi::http {
namespace {

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

Path path_of(const Environ& environ) {
  if (const std::string_view path = environ.get("PATH_INFO"); !path.empty()) {
    return {std::string(environ.get("SCRIPT_NAME")), std::string(path)};
  }
  const std::string_view uri = environ.get("REQUEST_URI");
  return {"", uri.empty() ? "/" : percent_decoded(uri.substr(0, uri.find('?')))};
}

std::optional<char> percent_byte(std::string_view text) noexcept {
  if (text.size() < 3 || text[0] != '%') return std::nullopt;
  const int high = hex_digit(text[1]);
  const int low = hex_digit(text[2]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

std::string percent_decoded(std::string_view text, Plus plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (const auto byte = percent_byte(text.substr(at))) {
      out += *byte;
      at += 2;
    } else {
      out += text[at] == '+' && plus == Plus::blank ? ' ' : text[at];
    }
  }
  return out;
}

}  // namespace rest_fcgi::http

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <string_view>

#include "netapi/handlers.h"
#include "netapi/request.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::netapi {
namespace {

using http::Environ;
using http::Response;

constexpr std::string_view kMask = "***";
constexpr std::size_t kMaxShown = 2048;  // `kMaxShown` limits a header or URL in a line, in bytes.
constexpr std::size_t kShortToken = 32;  // `kShortToken` is a token's length with Salt's `hash_type: md5`.

/// Masks long hexadecimal numbers, because such a number may be a token. Job ids are shorter and stay
/// visible.
std::string without_tokens(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t digits = std::min(text.find_first_not_of(kHexDigits), text.size());
    const std::size_t length = std::max<std::size_t>(digits, 1);
    out += digits >= kShortToken ? kMask : text.substr(0, length);
    text.remove_prefix(length);
  }
  return out;
}

std::string without_credentials(std::string_view url) {
  const std::size_t mark = std::min(url.find('?'), url.size());
  std::string out(url.substr(0, mark));
  std::string_view query = url.substr(mark);
  while (!query.empty()) {
    out += query.front();
    query.remove_prefix(1);
    const std::string_view field = query.substr(0, query.find_first_of("&;"));
    const std::size_t equals = std::min(field.find('='), field.size());
    const bool is_secret = is_credential_name(percent_decoded(field.substr(0, equals), Plus::blank));
    out += field.substr(0, equals);
    if (equals < field.size()) out.append("=").append(is_secret ? kMask : field.substr(equals + 1));
    query.remove_prefix(field.size());
  }
  return without_tokens(out);
}

void append_escaped(std::string& line, std::string_view text) {
  for (const char c : text.substr(0, kMaxShown)) {
    if (c == '"' || c == '\\') {
      line.append("\\").push_back(c);
    } else if (c >= ' ' && c < 0x7f) {
      line += c;
    } else {
      line += format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  if (text.size() > kMaxShown) line += "...";
}

std::string url_of(const Environ& environ) {
  if (const std::string_view uri = environ.get("REQUEST_URI"); !uri.empty()) return std::string(uri);
  std::string url = format("{}{}", environ.get("SCRIPT_NAME"), environ.get("PATH_INFO"));
  if (const std::string_view query = environ.get("QUERY_STRING"); !query.empty())
    url.append("?").append(query);
  return url;
}

std::string bytes_of(const Response& response) {
  const auto size = response.body_size();
  return size ? std::to_string(*size) : "-";
}

}  // namespace

std::string access_line(const Environ& environ, const Response& response, WallTime when) {
  std::string line;
  append_escaped(line, environ.get("REMOTE_ADDR").empty() ? "-" : environ.get("REMOTE_ADDR"));
  const std::string text = http::http_date(when);
  const std::string_view date = text;
  line += format(" - - [{}/{}/{}:{} +0000] \"", date.substr(5, 2), date.substr(8, 3), date.substr(12, 4),
                 date.substr(17, 8));
  append_escaped(line, environ.get("REQUEST_METHOD"));
  line += ' ';
  append_escaped(line, without_credentials(url_of(environ)));
  line += ' ';
  append_escaped(line, environ.get("SERVER_PROTOCOL"));
  line += format("\" {} {} \"", static_cast<int>(response.status), bytes_of(response));
  append_escaped(line, without_credentials(environ.get("HTTP_REFERER")));
  line += "\" \"";
  append_escaped(line, without_tokens(environ.get("HTTP_USER_AGENT")));
  return line + '"';
}

}  // namespace rest_fcgi::netapi

// SPDX-License-Identifier: MIT
#include "master/salt/requests/endpoint.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::salt {
namespace {

constexpr std::string_view kScheme = "tcp://";

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool consists_of(std::string_view text, std::string_view more) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter_or_digit(c) || more.find(c) != std::string_view::npos;
  });
}

bool is_host(std::string_view host) {
  const bool in_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return in_brackets ? consists_of(host.substr(1, host.size() - 2), ":.%-_") : consists_of(host, ".-_");
}

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port >= 1 && port <= 65535;
}

}  // namespace

Result<void> check_endpoint(std::string_view uri) {
  const std::string_view place = uri.substr(std::min(uri.size(), kScheme.size()));
  const std::size_t colon = place.rfind(':');
  if (uri.starts_with(kScheme) && colon != std::string_view::npos && is_host(place.substr(0, colon)) &&
      is_port(place.substr(colon + 1))) {
    return {};
  }
  return Error{
      ErrorKind::configuration,
      format("The Salt Master's address is `{}`; accepted is `tcp://HOST:PORT` with an address or a name, an "
             "IPv6 address in brackets, and a port from 1 to 65535.",
             uri)};
}

}  // namespace rest_fcgi::salt

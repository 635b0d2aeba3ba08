// SPDX-License-Identifier: MIT
#include "auth/guard_key.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <cstddef>

namespace rest_fcgi::auth {

std::string network_of(std::string_view remote) {
  constexpr std::size_t kNetworkBytes = 8;
  std::string text(remote);
  std::array<char, sizeof(in6_addr)> bytes{};
  if (::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) return {bytes.data(), sizeof(in_addr)};
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) return text;
  // What a dual-stack socket says of an IPv4 address: ::ffff:192.0.2.7
  const std::string mapped = std::string(10, '\0') + "\xff\xff";
  if (std::string_view(bytes.data(), mapped.size()) == mapped) {
    return {bytes.data() + mapped.size(), sizeof(in_addr)};
  }
  return {bytes.data(), kNetworkBytes};
}

}  // namespace rest_fcgi::auth

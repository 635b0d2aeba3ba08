// SPDX-License-Identifier: MIT
#include "auth/networks.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstddef>

namespace rest_fcgi::auth {
namespace {

/// Returns the 4 or 16 bytes of an address. Returns no bytes for any other text.
std::string address_of(std::string_view remote) {
  const std::string text(remote);
  std::string bytes(sizeof(in6_addr), '\0');
  if (::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) return bytes.substr(0, sizeof(in_addr));
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) return {};
  const std::string mapped = std::string(10, '\0') + "\xff\xff";
  const std::string translated = std::string("\0\x64\xff\x9b", 4) + std::string(8, '\0');
  const bool is_of_ipv4 = bytes.starts_with(mapped) || bytes.starts_with(translated);
  return is_of_ipv4 ? bytes.substr(bytes.size() - sizeof(in_addr)) : bytes;
}

}  // namespace

std::string network_of(std::string_view remote) {
  constexpr std::size_t kNetworkBytes = 8;
  std::string address = address_of(remote);
  if (address.empty()) return std::string(remote);
  address.resize(std::min(address.size(), kNetworkBytes));
  return address;
}

std::string site_of(std::string_view remote) {
  constexpr std::size_t kSiteBytes = 6;
  const std::string address = address_of(remote);
  return address.size() == sizeof(in6_addr) ? address.substr(0, kSiteBytes) : std::string();
}

std::string line_of(std::string_view remote) {
  std::string site = site_of(remote);
  return site.empty() ? network_of(remote) : site;
}

}  // namespace rest_fcgi::auth

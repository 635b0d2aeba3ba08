// SPDX-License-Identifier: MIT
#include "rest_fcgi/http/addresses.h"

#include <arpa/inet.h>

#include <algorithm>
#include <utility>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::http {
namespace {

constexpr unsigned kMappedBits = 96;  // IPv4 addresses are stored in the IPv6 network ::ffff:0:0/96.

bool same_start(const unsigned char* a, const unsigned char* b, unsigned bits) {
  const unsigned whole = bits / 8;
  if (!std::equal(a, a + whole, b)) return false;
  const unsigned rest = bits % 8;
  return rest == 0 || (a[whole] >> (8 - rest)) == (b[whole] >> (8 - rest));
}

std::string_view take_last(std::string_view& list) {
  const std::size_t comma = list.rfind(',');
  const std::string_view last = comma == std::string_view::npos ? list : list.substr(comma + 1);
  list = comma == std::string_view::npos ? std::string_view() : list.substr(0, comma);
  return trimmed(last);
}

/// Returns the address in an element of X-Forwarded-For, such as 192.0.2.7:80 or [2001:db8::1]:80.
std::optional<std::string> address_in(std::string_view part) {
  std::string_view port;  // The port with the colon in front.
  const std::size_t colon = part.find(':');
  if (part.starts_with('[')) {
    const std::size_t end = part.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    port = part.substr(end + 1);
    part = part.substr(1, end - 1);
  } else if (colon != std::string_view::npos && colon == part.rfind(':')) {
    port = part.substr(colon);
    part = part.substr(0, colon);
  }
  if (!port.empty() && (!port.starts_with(':') || !parse_port(port.substr(1)))) return std::nullopt;
  return Addresses::normalized(part);
}

}  // namespace

std::optional<std::string> Addresses::normalized(std::string_view address) {
  const auto bytes = bytes_of(address);
  if (!bytes) return std::nullopt;
  const Network mapped{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, kMappedBits};
  const bool is_ipv4 = same_start(mapped.bytes.data(), bytes->data(), mapped.bits);
  std::array<char, INET6_ADDRSTRLEN> text = {};
  ::inet_ntop(is_ipv4 ? AF_INET : AF_INET6, bytes->data() + (is_ipv4 ? 12 : 0), text.data(), text.size());
  return text.data();
}

std::optional<std::array<unsigned char, 16>> Addresses::bytes_of(std::string_view address) {
  std::array<unsigned char, 16> bytes{};
  const std::string text(address);
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return bytes;
  bytes[10] = bytes[11] = 0xff;
  if (::inet_pton(AF_INET, text.c_str(), bytes.data() + 12) == 1) return bytes;
  return std::nullopt;
}

Result<Addresses> Addresses::make(const std::vector<std::string>& texts) {
  Addresses addresses;
  for (const std::string& text : texts) {
    if (text == "*") {
      addresses.all_ = true;
      continue;
    }
    const std::size_t slash = text.find('/');
    std::string_view address = std::string_view(text).substr(0, slash);
    const unsigned most = address.find(':') == std::string_view::npos ? 32 : 128;
    if (most == 128 && address.starts_with('[') && address.ends_with(']'))
      address = address.substr(1, address.size() - 2);
    const auto bytes = bytes_of(address);
    std::optional<unsigned> bits = most;
    if (slash != std::string::npos) bits = parse_number<unsigned>(std::string_view(text).substr(slash + 1));
    if (!bytes || !bits || *bits > most) {
      return Error{ErrorKind::configuration, format("found {}, expected an address such as 192.0.2.7 or ::1, "
                                                    "or a network such as 192.0.2.0/24 or 2001:db8::/32",
                                                    quoted_excerpt(text))};
    }
    addresses.networks_.push_back({*bytes, most == 32 ? *bits + kMappedBits : *bits});
  }
  return addresses;
}

bool Addresses::has(std::string_view address) const {
  if (all_ || networks_.empty()) return all_;
  const auto bytes = bytes_of(address);
  return bytes && std::any_of(networks_.begin(), networks_.end(), [&](const Network& network) {
           return same_start(network.bytes.data(), bytes->data(), network.bits);
         });
}

std::string client_behind(const Addresses& proxies, std::string_view peer, std::string_view forwarded_for,
                          std::string_view real_ip) {
  std::optional<std::string> client;
  while (!forwarded_for.empty() && proxies.has(client.value_or(std::string(peer)))) {
    std::optional<std::string> before = address_in(take_last(forwarded_for));
    if (!before) break;
    client = std::move(before);
  }
  if (!client && proxies.has(peer)) client = address_in(trimmed(real_ip));
  return client.value_or(std::string(peer));
}

bool is_loopback(std::string_view host) {
  static const auto addresses = Addresses::make({std::begin(kLoopback), std::end(kLoopback)});
  return host == "localhost" || addresses->has(host);
}

std::string network_of(std::string_view remote) {
  constexpr std::size_t kNetworkBytes = 8;
  std::string text(remote);
  std::string bytes(sizeof(in6_addr), '\0');
  if (::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) return bytes.substr(0, sizeof(in_addr));
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) return text;
  const std::string mapped = std::string(10, '\0') + "\xff\xff";
  const std::string nat64 = std::string("\0\x64\xff\x9b", 4) + std::string(8, '\0');
  const bool is_ipv4 = bytes.starts_with(mapped) || bytes.starts_with(nat64);
  return is_ipv4 ? bytes.substr(bytes.size() - sizeof(in_addr)) : bytes.substr(0, kNetworkBytes);
}

}  // namespace rest_fcgi::http

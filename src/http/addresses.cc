// SPDX-License-Identifier: MIT
#include "rest_fcgi/http/addresses.h"

#include <algorithm>
#include <utility>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::http {
namespace {

std::string_view take_last(std::string_view& list) {
  const std::size_t comma = list.rfind(',');
  const std::string_view last = comma == std::string_view::npos ? list : list.substr(comma + 1);
  list = comma == std::string_view::npos ? std::string_view() : list.substr(0, comma);
  return trimmed(last);
}

/// Returns the address in an element of X-Forwarded-For, such as 192.0.2.7:80 or [2001:db8::1]:80.
std::optional<std::string> address_in(std::string_view part) {
  const auto with_port = parse_host_port(part);
  return Addresses::normalized(with_port ? with_port->host : without_brackets(part));
}

}  // namespace

std::optional<std::string> Addresses::normalized(std::string_view address) {
  const auto parsed = IpAddress::parse(address);
  return parsed ? std::optional(parsed->unmapped().text()) : std::nullopt;
}

Result<Addresses> Addresses::make(const std::vector<std::string>& texts) {
  Addresses addresses;
  for (const std::string& text : texts) {
    if (text == "*") {
      addresses.all_ = true;
      continue;
    }
    const auto network = IpNetwork::around(text);
    if (!network) {
      return Error{ErrorKind::configuration, format("found {}, expected an address such as 192.0.2.7 or ::1, "
                                                    "or a network such as 192.0.2.0/24 or 2001:db8::/32",
                                                    quoted_excerpt(text))};
    }
    const IpAddress& first = network->address;
    addresses.networks_.push_back({first.mapped(), network->prefix + 128 - first.bits()});
  }
  return addresses;
}

bool Addresses::has(std::string_view address) const {
  if (all_ || networks_.empty()) return all_;
  const auto parsed = IpAddress::parse(address);
  return parsed && std::any_of(networks_.begin(), networks_.end(),
                               [&](const IpNetwork& network) { return network.contains(parsed->mapped()); });
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
  static const auto nat64 = IpNetwork::parse("64:ff9b::/96");
  constexpr std::size_t kNetworkBytes = 8;
  const auto address = IpAddress::parse(remote);
  if (!address) return std::string(remote);
  const std::string bytes = address->unmapped().bytes();
  return nat64->contains(*address) ? bytes.substr(12) : bytes.substr(0, kNetworkBytes);
}

}  // namespace rest_fcgi::http

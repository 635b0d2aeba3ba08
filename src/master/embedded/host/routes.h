// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rest_fcgi::embedded {

/// An entry of a routing table, in the words of `netstat -rn`. Plain value.
struct Route {
  std::string_view family;  ///< `inet` or `inet6`
  std::string destination;  ///< IPv6: with its prefix
  std::string gateway;
  std::string netmask;  ///< empty for IPv6
  std::string flags;    ///< `UG`, ...
  std::string interface;

  [[nodiscard]] bool is_default() const { return destination == "0.0.0.0" || destination == "::/0"; }
};

/// What the texts of `/proc/net/route` and `/proc/net/ipv6_route` say. Lines that cannot be read are left
/// out.
[[nodiscard]] std::vector<Route> parse_routes(std::string_view ipv4, std::string_view ipv6);

/// Those of this host, now; none where the kernel does not tell.
[[nodiscard]] std::vector<Route> host_routes();

/// An address as these files of /proc write it: hexadecimal digits. IPv4 ones are in the host's byte order
/// there, as are the four parts of IPv6 ones in the tables of connections. Empty where it is none.
[[nodiscard]] std::string address_of_hex(std::string_view digits, bool parts_in_host_order);

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "master/embedded/host/ip_address.h"
#include "rest_fcgi/core/json.h"

namespace rest_fcgi::embedded {

/// An address of an interface. Plain value.
struct InterfaceAddress {
  IpAddress address;
  unsigned prefix = 0;
  std::optional<IpAddress> broadcast;
  std::string label;       ///< IPv4: the interface's name, or that of an alias
  std::string_view scope;  ///< IPv6: `global`, `link`, ...
  bool secondary = false;  ///< IPv4: another one of the same network came first
};

/// A network interface. Plain value.
struct Interface {
  std::string name;
  std::string parent;   ///< what it lies on, as a VLAN does; empty: nothing
  std::string hw_addr;  ///< empty: it has none
  bool up = false;
  std::vector<InterfaceAddress> addresses;
};

/// All interfaces, in the kernel's order; none where the kernel does not tell.
[[nodiscard]] std::vector<Interface> host_interfaces();

/// In the form of `network.interfaces`.
[[nodiscard]] Json interfaces_json(const std::vector<Interface>& interfaces);

/// The addresses of one IP version, sorted, each once; those of loopback only where asked for.
[[nodiscard]] std::vector<IpAddress> addresses_of(const std::vector<Interface>& interfaces, int version,
                                                  bool loopback);

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/address.h"
#include "rest_fcgi/core/json.h"

/// The grains of this host, as in Salt's `grains/core.py`.
namespace rest_fcgi::embedded {

/// The Salt release that the engine `embedded` imitates. Clients see this release in `test.version`, in
/// grains and in `manage.versions`.
inline constexpr std::string_view kSaltVersion = "3006.28";

[[nodiscard]] std::string host_name();

[[nodiscard]] Json host_grains();

/// Returns the grains of the operating system (`os`, `os_family`, `osrelease`, ...) from the text of
/// `/etc/os-release`. Leaves out grains without a value.
[[nodiscard]] Json os_grains(std::string_view os_release);

// The following functions parse the text of a system file, such as /proc/cpuinfo. They write grains as
// members of the JSON object that the caller has begun. If a value is missing, the grain is left out or has
// Salt's default.

void write_cpu_grains(JsonWriter& writer, std::string_view cpuinfo);

/// Values that show whether the host is a virtual machine or a container.
struct VirtualSigns {
  /// The container's name that systemd or a container manager stored, or an empty text.
  std::string container;
  std::string dmi;          ///< `dmi` has the vendor and product in the firmware.
  bool hypervisor = false;  ///< `hypervisor` says whether the processor has the flag `hypervisor`.
};
void write_virtual_grains(JsonWriter& writer, const VirtualSigns& signs);

struct HostNames {
  std::string fqdn;
  std::vector<IpAddress> addresses;  ///< The addresses of `fqdn`, sorted, without duplicates.
};

/// Returns the names of `hostname` from the text of /etc/hosts. The first name on a line is the fully
/// qualified name. The default is the hostname itself.
[[nodiscard]] HostNames names_in(std::string_view hosts, std::string_view hostname);
void write_name_grains(JsonWriter& writer, const HostNames& names);

struct NetworkInterface {
  struct Address {
    IpAddress address;
    unsigned prefix = 0;
  };
  std::string name;
  std::string hw_addr;
  std::vector<Address> addresses;
};

void write_address_grains(JsonWriter& writer, const std::vector<NetworkInterface>& interfaces);

void write_gateway_grains(JsonWriter& writer, std::string_view route, std::string_view ipv6_route);

void write_host_network_grains(JsonWriter& writer);

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "master/embedded/host/ip_address.h"
#include "rest_fcgi/core/json.h"

/// The grains of this host, with Salt's names and computed as Salt's `grains/core.py` does.
namespace rest_fcgi::embedded {

/// The release of Salt whose behaviour the engine has, for clients that choose by it: `test.version`, the
/// grains `saltversion` and `saltversioninfo`, `manage.versions`.
inline constexpr std::string_view kSaltVersion = "3006.28";

/// Returns the host's name, from which the ids of its minion and its master are made.
[[nodiscard]] std::string host_name();

/// Returns all grains of this host, read anew with each call.
[[nodiscard]] Json host_grains();

/// Returns the grains of the operating system (`os`, `os_family`, `osrelease`, ...) from the text of
/// `/etc/os-release`. A grain that the text does not tell is left out.
[[nodiscard]] Json os_grains(std::string_view os_release);

// The functions below write a part of the grains as members of an open object, from the text of a system
// file. A grain that the text does not tell is left out, or has the value that Salt gives it then.

/// From /proc/cpuinfo.
void write_cpu_grains(JsonWriter& writer, std::string_view cpuinfo);

/// In MiB, from /proc/meminfo.
void write_memory_grains(JsonWriter& writer, std::string_view meminfo);

/// From the readable files of a folder such as /sys/class/dmi/id.
void write_firmware_grains(JsonWriter& writer, const std::string& folder);

/// Signs of a virtual machine or a container.
struct VirtualSigns {
  std::string container;    ///< the name that systemd or a container manager left behind; empty: none
  std::string dmi;          ///< vendor and product, as the firmware names them
  bool hypervisor = false;  ///< the processor has the flag `hypervisor`
};
void write_virtual_grains(JsonWriter& writer, const VirtualSigns& signs);

/// The host's names and addresses in /etc/hosts. No name server is asked, since that may take long.
struct HostNames {
  std::string fqdn;
  std::vector<IpAddress> addresses;  ///< of `fqdn`, sorted, without duplicates
};

/// Returns the names of `hostname` in the text of /etc/hosts. The first name on a line is the fully qualified
/// one. A hostname that no line has is its own fully qualified name.
[[nodiscard]] HostNames names_in(std::string_view hosts, std::string_view hostname);
void write_name_grains(JsonWriter& writer, const HostNames& names);

struct NetworkInterface {
  struct Address {
    IpAddress address;
    unsigned prefix = 0;
  };
  std::string name;
  std::string hw_addr;  ///< empty: none
  std::vector<Address> addresses;
};

/// Returns the interfaces of this host in the kernel's order; empty if the kernel cannot tell.
[[nodiscard]] std::vector<NetworkInterface> network_interfaces();
void write_address_grains(JsonWriter& writer, const std::vector<NetworkInterface>& interfaces);

/// From /proc/net/route and /proc/net/ipv6_route.
void write_gateway_grains(JsonWriter& writer, std::string_view route, std::string_view ipv6_route);

/// From /etc/resolv.conf.
void write_dns_grain(JsonWriter& writer, std::string_view resolv_conf);

/// Writes all grains of this host's network.
void write_host_network_grains(JsonWriter& writer);

}  // namespace rest_fcgi::embedded

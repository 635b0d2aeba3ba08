// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "master/embedded/host/ip_address.h"
#include "rest_fcgi/core/json.h"

/// What this host tells about itself.
namespace rest_fcgi::embedded {

/// The host's name, after which its minion and its master are called.
[[nodiscard]] std::string host_name();

/// The grains about the operating system that Salt derives from the text of `/etc/os-release`: os, os_family,
/// osfullname, osrelease, osmajorrelease, osrelease_info, oscodename, osfinger. Members that the text does
/// not tell are left out.
[[nodiscard]] Json os_grains(std::string_view os_release);

/// What is known about this host, under Salt's names and computed as Salt does; read anew with each call.
[[nodiscard]] Json host_grains();

// The parts of a host's grains. Each writes members of an object that its caller begins and ends; what the
// host does not tell is left out, as Salt leaves it out, or has the value that Salt gives it then.

/// num_cpus, cpu_model, cpu_flags, out of the text of /proc/cpuinfo.
void write_cpu_grains(JsonWriter& writer, std::string_view cpuinfo);

/// mem_total, swap_total (MiB), out of the text of /proc/meminfo.
void write_memory_grains(JsonWriter& writer, std::string_view meminfo);

/// biosversion, manufacturer, productname, ..., out of a folder such as /sys/class/dmi/id; whatever of it we
/// may read.
void write_firmware_grains(JsonWriter& writer, const std::string& folder);

/// What tells a virtual machine or a container.
struct VirtualSigns {
  std::string container;    ///< the name that systemd or a container's manager left behind; empty: none
  std::string dmi;          ///< vendor and product, as the firmware says
  bool hypervisor = false;  ///< the processor says that it is one of a virtual machine
};

/// virtual, virtual_subtype.
void write_virtual_grains(JsonWriter& writer, const VirtualSigns& signs);

/// A host's names and addresses as far as this host itself knows them: no name server is ever asked, since
/// that may take long.
struct HostNames {
  std::string fqdn;
  std::vector<IpAddress> addresses;  ///< of `fqdn`, sorted, each once
};

/// What `/etc/hosts`, whose text is `hosts`, says of `hostname`. The first name on its line is the fully
/// qualified one; without such a line it is the hostname itself.
[[nodiscard]] HostNames names_in(std::string_view hosts, std::string_view hostname);

/// host, domain, fqdn, fqdn_ip4, fqdn_ip6.
void write_name_grains(JsonWriter& writer, const HostNames& names);

/// An interface with what grains tell of it.
struct NetworkInterface {
  struct Address {
    IpAddress address;
    unsigned prefix = 0;
  };
  std::string name;
  std::string hw_addr;  ///< empty: it has none
  std::vector<Address> addresses;
};

/// Those of this host, in the kernel's order; none where the kernel does not tell.
[[nodiscard]] std::vector<NetworkInterface> network_interfaces();

/// hwaddr_interfaces, ip_interfaces, ip4_interfaces, ip6_interfaces, ipv4, ipv6.
void write_address_grains(JsonWriter& writer, const std::vector<NetworkInterface>& interfaces);

/// ip_gw, ip4_gw, ip6_gw, out of the texts of /proc/net/route and /proc/net/ipv6_route.
void write_gateway_grains(JsonWriter& writer, std::string_view route, std::string_view ipv6_route);

/// dns, out of the text of resolv.conf.
void write_dns_grain(JsonWriter& writer, std::string_view resolv_conf);

/// All of this host that has to do with the network.
void write_host_network_grains(JsonWriter& writer);

}  // namespace rest_fcgi::embedded

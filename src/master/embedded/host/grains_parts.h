// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "master/embedded/host/host_names.h"
#include "master/embedded/host/interfaces.h"
#include "master/embedded/host/routes.h"
#include "rest_fcgi/core/json.h"

/// The parts of a host's grains. Each writes members of an object that its caller begins and ends; what the
/// host does not tell is left out, as Salt leaves it out, or has the value that Salt gives it then.
namespace rest_fcgi::embedded {

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

/// The signs on this host. `cpuinfo`: the text of /proc/cpuinfo.
[[nodiscard]] VirtualSigns virtual_signs(std::string_view cpuinfo);

/// host, domain, fqdn, fqdn_ip4, fqdn_ip6.
void write_name_grains(JsonWriter& writer, const HostNames& names);

/// hwaddr_interfaces, ip_interfaces, ip4_interfaces, ip6_interfaces, ipv4, ipv6.
void write_address_grains(JsonWriter& writer, const std::vector<Interface>& interfaces);

/// ip_gw, ip4_gw, ip6_gw.
void write_gateway_grains(JsonWriter& writer, const std::vector<Route>& routes);

/// dns, out of the text of resolv.conf.
void write_dns_grain(JsonWriter& writer, std::string_view resolv_conf);

/// Of the process that we are: uid, gid, username, groupname, pid, path, systempath, shell.
void write_process_grains(JsonWriter& writer);

/// init, machine_id.
void write_init_grains(JsonWriter& writer);

}  // namespace rest_fcgi::embedded

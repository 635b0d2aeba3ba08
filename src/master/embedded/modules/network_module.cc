// SPDX-License-Identifier: MIT
#include "master/embedded/modules/network_module.h"

#include <array>

namespace rest_fcgi::embedded {
namespace {

using Parameters = std::array<Parameter, 6>;

constexpr Function function(std::string_view name, std::string_view python_name, Parameters parameters,
                            std::string_view summary, std::string_view example, Reply (*run)(const Call&)) {
  return {.name = name,
          .python_name = python_name,
          .parameters = parameters,
          .summary = summary,
          .example = example,
          .run = run};
}

constexpr Parameters kNone = {};
constexpr Parameters kInterface = {{{"iface"}}};
constexpr Parameters kAddress = {{{"ip_addr"}}};
constexpr Parameters kCidr = {{{"cidr"}}};
constexpr Parameters kFamily = {{{"family", "null"}}};
constexpr Parameters kAddresses4 = {
    {{"interface", "null"}, {"include_loopback", "false"}, {"cidr", "null"}, {"type", "null"}}};
constexpr Parameters kAddresses6 = {{{"interface", "null"}, {"include_loopback", "false"}, {"cidr", "null"}}};
constexpr Parameters kNetworks = {
    {{"interface", "null"}, {"include_loopback", "false"}, {"verbose", "false"}}};

constexpr std::string_view kAddresses4Summary =
    "Return the IPv4 addresses of this host, or of the named interfaces, or those in ``cidr``, or those\n"
    "of ``type`` ``public`` or ``private``.";
constexpr std::string_view kAddresses6Summary =
    "Return the IPv6 addresses of this host, or of the named interfaces, or those in ``cidr``.";

namespace n = network_module;

constexpr std::array kFunctions = {
    function("network.active_tcp", "active_tcp", kNone, "Return the TCP connections that stand.",
             "network.active_tcp", n::active_tcp),
    function("network.arp", "arp", kNone, "Return the ARP table: hardware addresses with their IP addresses.",
             "network.arp", n::arp),
    function("network.calc_net", "calc_net", {{{"ip_addr"}, {"netmask", "null"}}},
             "Return the network of an address.", "network.calc_net 172.17.0.5 255.255.255.240", n::calc_net),
    function("network.convert_cidr", "convert_cidr", kCidr,
             "Return address, netmask and broadcast address of a network.",
             "network.convert_cidr 172.31.0.0/16", n::convert_cidr),
    function("network.default_route", "default_route", kFamily,
             "Return the default routes, or those of ``inet`` or ``inet6``.", "network.default_route",
             n::default_route),
    function("network.get_fqdn", "get_fqdn", kNone,
             "Return the fully qualified name of this host, without asking a name server.",
             "network.get_fqdn", n::get_fqdn),
    function("network.get_hostname", "get_hostname", kNone, "Return the name of this host.",
             "network.get_hostname", n::get_hostname),
    function("network.hw_addr", "hw_addr", kInterface, "Return the hardware address of an interface.",
             "network.hw_addr eth0", n::hw_addr),
    function("network.hwaddr", "hw_addr", kInterface, "Return the hardware address of an interface.",
             "network.hwaddr eth0", n::hw_addr),
    function("network.ifacestartswith", "ifacestartswith", kCidr,
             "Return the interfaces whose IPv4 addresses begin so.", "network.ifacestartswith 10.0",
             n::ifacestartswith),
    function("network.in_subnet", "in_subnet", kCidr, "Return whether this host is in that network.",
             "network.in_subnet 10.0.0.0/16", n::in_subnet),
    function("network.interface", "interface", kInterface, "Return the IPv4 addresses of an interface.",
             "network.interface eth0", n::interface),
    function("network.interface_ip", "interface_ip", kInterface,
             "Return the first IPv4 address of an interface.", "network.interface_ip eth0", n::interface_ip),
    function("network.interfaces", "interfaces", kNone, "Return all interfaces and their addresses.",
             "network.interfaces", n::interfaces),
    function("network.ip_addrs", "ip_addrs", kAddresses4, kAddresses4Summary, "network.ip_addrs",
             n::ip_addrs),
    function("network.ip_addrs6", "ip_addrs6", kAddresses6, kAddresses6Summary, "network.ip_addrs6",
             n::ip_addrs6),
    function("network.ip_in_subnet", "ip_in_subnet", {{{"ip_addr"}, {"cidr"}}},
             "Return whether an address is in that network.", "network.ip_in_subnet 172.17.0.4 172.16.0.0/12",
             n::ip_in_subnet),
    function("network.ip_networks", "ip_networks", kNetworks, "Return the IPv4 networks of this host.",
             "network.ip_networks\nnetwork.ip_networks interface='eth*' verbose=True", n::ip_networks),
    function("network.ip_networks6", "ip_networks6", kNetworks, "Return the IPv6 networks of this host.",
             "network.ip_networks6", n::ip_networks6),
    function("network.ipaddrs", "ip_addrs", kAddresses4, kAddresses4Summary, "network.ipaddrs", n::ip_addrs),
    function("network.ipaddrs6", "ip_addrs6", kAddresses6, kAddresses6Summary, "network.ipaddrs6",
             n::ip_addrs6),
    function("network.iphexval", "iphexval", {{{"ip"}}}, "Return an IPv4 address in hexadecimal digits.",
             "network.iphexval 10.0.0.1", n::iphexval),
    function("network.is_loopback", "is_loopback", kAddress, "Return whether it is a loopback address.",
             "network.is_loopback 127.0.0.1", n::is_loopback),
    function("network.is_private", "is_private", kAddress, "Return whether it is a private address.",
             "network.is_private 10.0.0.3", n::is_private),
    function("network.reverse_ip", "reverse_ip", kAddress, "Return the name of an address in DNS.",
             "network.reverse_ip 172.17.0.4", n::reverse_ip),
    function("network.routes", "routes", kFamily,
             "Return the routing tables, or that of ``inet`` or ``inet6``.", "network.routes", n::routes),
    function("network.subnets", "subnets", {{{"interfaces", "null"}}},
             "Return the IPv4 networks of this host, or of the named interfaces, without loopback.",
             "network.subnets\nnetwork.subnets interfaces=eth1", n::subnets),
    function("network.subnets6", "subnets6", kNone,
             "Return the IPv6 networks of this host, without loopback.", "network.subnets6", n::subnets6),
};

}  // namespace

std::span<const Function> network_functions() {
  return kFunctions;
}

}  // namespace rest_fcgi::embedded

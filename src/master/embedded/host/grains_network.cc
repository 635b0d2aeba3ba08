// SPDX-License-Identifier: MIT
#include <ifaddrs.h>
#include <net/route.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <set>

#include <linux/if_arp.h>
#include <linux/if_packet.h>

#include "master/embedded/host/grains.h"
#include "master/embedded/text.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

using Words = std::vector<std::string_view>;

std::vector<Words> lines_about(std::string_view hosts, std::string_view name) {
  std::vector<Words> found;
  for (const std::string_view line : lines_of(hosts)) {
    Words words = split_words(line.substr(0, line.find('#')));
    if (words.size() > 1 && std::find(words.begin() + 1, words.end(), name) != words.end()) {
      found.push_back(std::move(words));
    }
  }
  return found;
}

std::string_view bytes_at(const sockaddr& address, std::size_t offset, std::size_t size) {
  return {reinterpret_cast<const char*>(&address) + offset, size};
}

std::optional<IpAddress> address_of(const sockaddr& address) {
  if (address.sa_family == AF_INET)
    return IpAddress::of_bytes(bytes_at(address, offsetof(sockaddr_in, sin_addr), 4));
  if (address.sa_family != AF_INET6) return std::nullopt;
  return IpAddress::of_bytes(bytes_at(address, offsetof(sockaddr_in6, sin6_addr), 16));
}

std::string hw_addr_of(const sockaddr& address) {
  sockaddr_ll link{};
  std::memcpy(&link, &address, sizeof link);
  const std::string_view bytes = bytes_at(address, offsetof(sockaddr_ll, sll_addr), link.sll_halen);
  if (link.sll_hatype == ARPHRD_TUNNEL || link.sll_hatype == ARPHRD_SIT || link.sll_hatype == ARPHRD_IPGRE) {
    const auto endpoint = IpAddress::of_bytes(bytes);
    return endpoint ? endpoint->text() : std::string();
  }
  std::string text;
  for (const char byte : bytes) {
    text += format("{}{:02x}", text.empty() ? "" : ":", static_cast<unsigned char>(byte));
  }
  return text;
}

/// Writes the addresses of one IP version, or of both versions if `version` is 0.
template <class Addresses>
void write_addresses(JsonWriter& writer, std::string_view key, const Addresses& addresses, int version) {
  writer.key(key).begin_array();
  for (const IpAddress& address : addresses) {
    if (version == 0 || address.version() == version) writer.string(address.text());
  }
  writer.end_array();
}

/// Returns the addresses in Salt's order: IPv4, IPv6, and at the end secondary IPv4. An IPv4 address is
/// secondary if an earlier address of the interface is in the same network.
std::vector<IpAddress> in_salts_order(const std::vector<NetworkInterface::Address>& addresses) {
  std::set<IpNetwork> networks;
  std::array<std::vector<IpAddress>, 3> parts;
  for (const auto& [address, prefix] : addresses) {
    const bool is_first = networks.insert({address.masked(prefix), prefix}).second;
    parts.at(address.version() == 6 ? 1 : is_first ? 0 : 2).push_back(address);
  }
  for (const std::size_t part : {1U, 2U})
    parts[0].insert(parts[0].end(), parts[part].begin(), parts[part].end());
  return parts[0];
}

void write_by_interface(JsonWriter& writer, std::string_view key,
                        const std::vector<NetworkInterface>& interfaces, int version) {
  writer.key(key).begin_object();
  for (const NetworkInterface& interface : interfaces) {
    write_addresses(writer, interface.name, in_salts_order(interface.addresses), version);
  }
  writer.end_object();
}

/// IPv4 addresses in the tables of /proc/net are in the host's byte order.
std::string address_of_hex_digits(std::string_view digits) {
  std::string bytes;
  for (; digits.size() >= 2; digits.remove_prefix(2)) {
    bytes += static_cast<char>(parse_number<unsigned>(digits.substr(0, 2), 16).value_or(0));
  }
  if (bytes.size() == 4 && std::endian::native == std::endian::little)
    std::reverse(bytes.begin(), bytes.end());
  const auto address = IpAddress::of_bytes(bytes);
  return address ? address->text() : std::string();
}

/// The gateway of a default route in hexadecimal digits. Absent for a route without a gateway.
using Gateway = std::optional<std::string_view>;

/// Returns the gateway of the first active default route. `columns` are the column numbers of the
/// destination, its mask or prefix length, the gateway and the flags.
std::optional<Gateway> default_route(std::string_view table, const std::array<std::size_t, 4>& columns) {
  const auto is_zero = [](std::string_view digits) {
    return digits.find_first_not_of('0') == std::string_view::npos;
  };
  for (const std::string_view line : lines_of(table)) {
    const Words words = split_words(line);
    if (words.size() <= columns[3] || words.size() <= columns[1]) continue;
    const unsigned flags = parse_number<unsigned>(words[columns[3]], 16).value_or(0);
    const bool is_default = is_zero(words[columns[0]]) && is_zero(words[columns[1]]);
    if (!is_default || (flags & RTF_UP) == 0 || (flags & RTF_REJECT) != 0) continue;
    return (flags & RTF_GATEWAY) != 0 ? Gateway(words[columns[2]]) : Gateway();
  }
  return std::nullopt;
}

void write_gateway(JsonWriter& writer, std::string_view key, const std::optional<Gateway>& route) {
  writer.key(key);
  route&&* route ? writer.string(address_of_hex_digits(**route)) : writer.boolean(route.has_value());
}

void write_dns_grain(JsonWriter& writer, std::string_view resolv_conf) {
  std::array<Words, 3> servers;
  Words sort_list;
  Words search;
  Words options;
  std::string_view domain;
  for (const std::string_view line : lines_of(resolv_conf)) {
    Words words = split_words(line.substr(0, line.find_first_of("#;")));
    if (words.size() < 2) continue;
    const std::string_view key = words[0];
    words.erase(words.begin());
    if (const auto address = IpAddress::parse(words[0]); address && key == "nameserver") {
      servers[0].push_back(words[0]);
      servers.at(address->version() == 4 ? 1 : 2).push_back(words[0]);
    }
    if (key == "domain") domain = words[0];
    if (key == "search") search = words;
    if (key == "sortlist") sort_list = words;
    if (key == "options") options = words;
  }
  write_strings(writer.key("dns").begin_object().key("nameservers"), servers[0]);
  write_strings(writer.key("ip4_nameservers"), servers[1]);
  write_strings(writer.key("ip6_nameservers"), servers[2]);
  write_strings(writer.key("sortlist"), sort_list);
  write_strings(writer.key("domain").string(domain).key("search"), search);
  write_strings(writer.key("options"), options);
  writer.end_object();
}

/// Returns the network interfaces of this host in the kernel's order, or an empty list after an error.
std::vector<NetworkInterface> network_interfaces() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
  std::vector<NetworkInterface> interfaces;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    const std::string_view label = one->ifa_name;  // The label of an address, such as `eth0:1`.
    const std::string_view name = label.substr(0, label.find(':'));
    auto found = std::find_if(interfaces.begin(), interfaces.end(),
                              [name](const NetworkInterface& interface) { return interface.name == name; });
    if (found == interfaces.end()) found = interfaces.insert(found, {std::string(name), "", {}});
    if (one->ifa_addr->sa_family == AF_PACKET) {
      found->hw_addr = hw_addr_of(*one->ifa_addr);
    } else if (const auto address = address_of(*one->ifa_addr)) {
      const auto mask = one->ifa_netmask == nullptr ? std::nullopt : address_of(*one->ifa_netmask);
      found->addresses.push_back({*address, mask ? mask->prefix_of_mask().value_or(0) : address->bits()});
    }
  }
  return interfaces;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

HostNames names_in(std::string_view hosts, std::string_view hostname) {
  const std::vector<Words> lines = lines_about(hosts, hostname);
  HostNames found{std::string(lines.empty() ? hostname : lines.front()[1]), {}};
  std::set<IpAddress> addresses;
  for (const Words& words : lines_about(hosts, found.fqdn)) {
    if (const auto address = IpAddress::parse(words[0])) addresses.insert(*address);
  }
  found.addresses.assign(addresses.begin(), addresses.end());
  return found;
}

void write_name_grains(JsonWriter& writer, const HostNames& names) {
  const std::size_t dot = std::min(names.fqdn.find('.'), names.fqdn.size());
  writer.key("fqdn").string(names.fqdn);
  writer.key("host").string(names.fqdn.substr(0, dot));
  writer.key("domain").string(dot == names.fqdn.size() ? "" : names.fqdn.substr(dot + 1));
  write_addresses(writer, "fqdn_ip4", names.addresses, 4);
  write_addresses(writer, "fqdn_ip6", names.addresses, 6);
}

void write_address_grains(JsonWriter& writer, const std::vector<NetworkInterface>& interfaces) {
  std::set<IpAddress> all;
  writer.key("hwaddr_interfaces").begin_object();
  for (const NetworkInterface& interface : interfaces) {
    if (!interface.hw_addr.empty()) writer.key(interface.name).string(interface.hw_addr);
    for (const auto& [address, prefix] : interface.addresses) all.insert(address);
  }
  writer.end_object();
  write_by_interface(writer, "ip_interfaces", interfaces, 0);
  write_by_interface(writer, "ip4_interfaces", interfaces, 4);
  write_by_interface(writer, "ip6_interfaces", interfaces, 6);
  write_addresses(writer, "ipv4", all, 4);
  write_addresses(writer, "ipv6", all, 6);
}

void write_gateway_grains(JsonWriter& writer, std::string_view route, std::string_view ipv6_route) {
  const auto inet = default_route(route, {1, 7, 2, 3});
  const auto inet6 = default_route(ipv6_route, {0, 1, 4, 8});
  writer.key("ip_gw").boolean(inet || inet6);
  write_gateway(writer, "ip4_gw", inet);
  write_gateway(writer, "ip6_gw", inet6);
}

void write_host_network_grains(JsonWriter& writer) {
  write_name_grains(writer, names_in(read_text("/etc/hosts").value_or(""), host_name()));
  write_address_grains(writer, network_interfaces());
  write_gateway_grains(writer, read_text("/proc/net/route").value_or(""),
                       read_text("/proc/net/ipv6_route").value_or(""));
  // /etc/resolv.conf may contain only the local server of systemd-resolved. The file of systemd-resolved
  // lists the servers that systemd-resolved asks.
  const auto behind = read_text("/run/systemd/resolve/resolv.conf");
  write_dns_grain(writer, behind ? *behind : read_text("/etc/resolv.conf").value_or(""));
}

}  // namespace rest_fcgi::embedded

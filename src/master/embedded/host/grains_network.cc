// SPDX-License-Identifier: MIT
#include <algorithm>

#include "master/embedded/host/grains_parts.h"
#include "master/embedded/host/host_text.h"

namespace rest_fcgi::embedded {
namespace {

void write_addresses(JsonWriter& writer, std::string_view key, const std::vector<IpAddress>& addresses,
                     int version) {
  writer.key(key).begin_array();
  for (const IpAddress& address : addresses) {
    if (version == 0 || address.version() == version) writer.string(address.text());
  }
  writer.end_array();
}

/// The addresses of each interface that have that IP version, or all of them for 0.
void write_by_interface(JsonWriter& writer, std::string_view key, const std::vector<Interface>& interfaces,
                        int version) {
  writer.key(key).begin_object();
  for (const Interface& interface : interfaces) {
    std::vector<IpAddress> primary;
    std::vector<IpAddress> secondary;
    for (const InterfaceAddress& one : interface.addresses) {
      (one.secondary ? secondary : primary).push_back(one.address);
    }
    // Salt lists IPv4 before IPv6, and what is secondary last.
    std::stable_partition(primary.begin(), primary.end(),
                          [](const IpAddress& a) { return a.version() == 4; });
    primary.insert(primary.end(), secondary.begin(), secondary.end());
    write_addresses(writer, interface.name, primary, version);
  }
  writer.end_object();
}

void write_gateway(JsonWriter& writer, std::string_view key, const Route* route) {
  writer.key(key);
  if (route == nullptr) {
    writer.boolean(false);
  } else if (route->flags.find('G') == std::string::npos) {
    writer.boolean(true);
  } else {
    writer.string(route->gateway);
  }
}

void write_words(JsonWriter& writer, std::string_view key, const std::vector<std::string_view>& words) {
  writer.key(key).begin_array();
  for (const std::string_view word : words) writer.string(word);
  writer.end_array();
}

}  // namespace

void write_name_grains(JsonWriter& writer, const HostNames& names) {
  const std::size_t dot = std::min(names.fqdn.find('.'), names.fqdn.size());
  writer.key("fqdn").string(names.fqdn);
  writer.key("host").string(names.fqdn.substr(0, dot));
  writer.key("domain").string(dot == names.fqdn.size() ? "" : names.fqdn.substr(dot + 1));
  write_addresses(writer, "fqdn_ip4", names.addresses, 4);
  write_addresses(writer, "fqdn_ip6", names.addresses, 6);
}

void write_address_grains(JsonWriter& writer, const std::vector<Interface>& interfaces) {
  writer.key("hwaddr_interfaces").begin_object();
  for (const Interface& interface : interfaces) {
    if (!interface.hw_addr.empty()) writer.key(interface.name).string(interface.hw_addr);
  }
  writer.end_object();
  write_by_interface(writer, "ip_interfaces", interfaces, 0);
  write_by_interface(writer, "ip4_interfaces", interfaces, 4);
  write_by_interface(writer, "ip6_interfaces", interfaces, 6);
  write_addresses(writer, "ipv4", addresses_of(interfaces, 4, true), 4);
  write_addresses(writer, "ipv6", addresses_of(interfaces, 6, true), 6);
}

void write_gateway_grains(JsonWriter& writer, const std::vector<Route>& routes) {
  const auto gateway = [&routes](std::string_view family) -> const Route* {
    const auto found = std::find_if(routes.begin(), routes.end(), [family](const Route& route) {
      return route.is_default() && route.family == family && route.flags.starts_with('U');
    });
    return found == routes.end() ? nullptr : &*found;
  };
  const Route* inet = gateway("inet");
  const Route* inet6 = gateway("inet6");
  writer.key("ip_gw").boolean(inet != nullptr || inet6 != nullptr);
  write_gateway(writer, "ip4_gw", inet);
  write_gateway(writer, "ip6_gw", inet6);
}

void write_dns_grain(JsonWriter& writer, std::string_view resolv_conf) {
  std::vector<std::string_view> servers;
  std::vector<std::string_view> sort_list;
  std::vector<std::string_view> search;
  std::vector<std::string_view> options;
  std::string_view domain;
  for (const std::string_view line : lines_of(resolv_conf)) {
    auto words = words_of(line.substr(0, line.find_first_of("#;")));
    if (words.size() < 2) continue;
    const std::string_view key = words[0];
    words.erase(words.begin());
    if (key == "nameserver" && IpAddress::parse(words[0])) servers.push_back(words[0]);
    if (key == "domain") domain = words[0];
    if (key == "search") search = words;
    if (key == "sortlist") sort_list = words;
    if (key == "options") options = words;
  }
  std::vector<std::string_view> servers4 = servers;
  std::vector<std::string_view> servers6 = servers;
  std::erase_if(servers4, [](std::string_view text) { return IpAddress::parse(text)->version() != 4; });
  std::erase_if(servers6, [](std::string_view text) { return IpAddress::parse(text)->version() != 6; });
  writer.key("dns").begin_object();
  write_words(writer, "nameservers", servers);
  write_words(writer, "ip4_nameservers", servers4);
  write_words(writer, "ip6_nameservers", servers6);
  write_words(writer, "sortlist", sort_list);
  writer.key("domain").string(domain);
  write_words(writer, "search", search);
  write_words(writer, "options", options);
  writer.end_object();
}

}  // namespace rest_fcgi::embedded

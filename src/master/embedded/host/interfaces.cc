// SPDX-License-Identifier: MIT
#include "master/embedded/host/interfaces.h"

#include <net/if.h>

#include <algorithm>
#include <map>
#include <set>

#include <linux/if_arp.h>
#include <linux/rtnetlink.h>

#include "master/embedded/host/netlink.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

/// What is known while the tables are read.
struct Link {
  Interface shown;
  std::uint32_t below = 0;  ///< the index of what it lies on
  bool has_below = false;
};
using Links = std::vector<std::pair<int, Link>>;  // by index, in the kernel's order

/// Tunnels have an IPv4 address in place of a hardware address.
std::string hw_addr_of(unsigned type, std::string_view bytes) {
  if (bytes.empty()) return {};
  if (type == ARPHRD_TUNNEL || type == ARPHRD_SIT || type == ARPHRD_IPGRE) {
    const auto address = IpAddress::of_bytes(bytes);
    return address ? address->text() : std::string();
  }
  std::string text;
  for (const char byte : bytes)
    text += format("{}{:02x}", text.empty() ? "" : ":", static_cast<unsigned char>(byte));
  return text;
}

Link link_of(const NetlinkEntry& entry) {
  const auto head = entry.head<ifinfomsg>();
  Link link;
  link.shown.name = entry.text(IFLA_IFNAME);
  link.shown.up = (head.ifi_flags & IFF_UP) != 0;
  link.shown.hw_addr = hw_addr_of(head.ifi_type, entry.attribute(IFLA_ADDRESS));
  link.has_below = !entry.attribute(IFLA_LINK).empty();
  link.below = entry.number(IFLA_LINK);
  // What it lies on is in another network namespace: its index says nothing here.
  if (!entry.attribute(IFLA_LINK_NETNSID).empty()) link.shown.parent = format("if{}", link.below);
  return link;
}

Link* find(Links& links, int index) {
  const auto found =
      std::find_if(links.begin(), links.end(), [index](const auto& link) { return link.first == index; });
  return found == links.end() ? nullptr : &found->second;
}

void name_parents(Links& links) {
  for (auto& [index, link] : links) {
    if (!link.has_below || !link.shown.parent.empty()) continue;
    const Link* below = find(links, static_cast<int>(link.below));
    link.shown.parent = link.below == 0    ? "NONE"
                        : below != nullptr ? below->shown.name
                                           : format("if{}", link.below);
  }
}

std::string_view scope_name(unsigned char scope) {
  switch (scope) {
    case RT_SCOPE_LINK:
      return "link";
    case RT_SCOPE_HOST:
      return "host";
    case RT_SCOPE_SITE:
      return "site";
    default:
      return "global";
  }
}

std::optional<InterfaceAddress> address_of(const NetlinkEntry& entry) {
  const auto head = entry.head<ifaddrmsg>();
  // Point to point, IFA_ADDRESS is the other end.
  const std::string_view own = entry.attribute(entry.attribute(IFA_LOCAL).empty() ? IFA_ADDRESS : IFA_LOCAL);
  const auto address = IpAddress::of_bytes(own);
  if (!address) return std::nullopt;
  InterfaceAddress found{*address, head.ifa_prefixlen, std::nullopt, "", scope_name(head.ifa_scope), false};
  if (address->version() == 4) {
    found.broadcast = IpAddress::of_bytes(entry.attribute(IFA_BROADCAST));
    found.label = entry.text(IFA_LABEL);
    found.secondary = (head.ifa_flags & IFA_F_SECONDARY) != 0;
  }
  return found;
}

void write_address(JsonWriter& writer, const InterfaceAddress& address) {
  const bool v4 = address.address.version() == 4;
  writer.begin_object();
  if (address.secondary) writer.key("type").string("inet");
  writer.key("address").string(address.address.text());
  if (v4) {
    writer.key("netmask").string(address.prefix == 0 ? "" : IpAddress::mask(4, address.prefix).text());
    writer.key("broadcast");
    if (address.broadcast) {
      writer.string(address.broadcast->text());
    } else {
      writer.null();
    }
    writer.key("label").string(address.label);
  } else {
    writer.key("prefixlen").string(std::to_string(address.prefix));
    writer.key("scope").string(address.scope);
  }
  writer.end_object();
}

/// A list of the addresses that `belongs` picks, under `key`; nothing where there are none.
template <class Belongs>
void write_list(JsonWriter& writer, std::string_view key, const Interface& interface, Belongs belongs) {
  if (std::none_of(interface.addresses.begin(), interface.addresses.end(), belongs)) return;
  writer.key(key).begin_array();
  for (const InterfaceAddress& address : interface.addresses) {
    if (belongs(address)) write_address(writer, address);
  }
  writer.end_array();
}

void write_interface(JsonWriter& writer, const Interface& interface) {
  writer.begin_object();
  writer.key("up").boolean(interface.up);
  if (!interface.parent.empty()) writer.key("parent").string(interface.parent);
  if (!interface.hw_addr.empty()) writer.key("hwaddr").string(interface.hw_addr);
  write_list(writer, "inet", interface,
             [](const auto& a) { return a.address.version() == 4 && !a.secondary; });
  write_list(writer, "inet6", interface, [](const auto& a) { return a.address.version() == 6; });
  write_list(writer, "secondary", interface, [](const auto& a) { return a.secondary; });
  writer.end_object();
}

}  // namespace

std::vector<Interface> host_interfaces() {
  Links links;
  const auto linked = dump_kernel_table(RTM_GETLINK, sizeof(ifinfomsg), [&links](const NetlinkEntry& entry) {
    links.emplace_back(entry.head<ifinfomsg>().ifi_index, link_of(entry));
  });
  if (!linked) return {};
  name_parents(links);
  const auto addressed =
      dump_kernel_table(RTM_GETADDR, sizeof(ifaddrmsg), [&links](const NetlinkEntry& entry) {
        Link* link = find(links, static_cast<int>(entry.head<ifaddrmsg>().ifa_index));
        const auto address = address_of(entry);
        if (link != nullptr && address) link->shown.addresses.push_back(*address);
      });
  if (!addressed) return {};
  std::vector<Interface> interfaces;
  for (auto& [index, link] : links) interfaces.push_back(std::move(link.shown));
  return interfaces;
}

Json interfaces_json(const std::vector<Interface>& interfaces) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const Interface& interface : interfaces) {
    writer.key(interface.name);
    write_interface(writer, interface);
  }
  writer.end_object();
  return Json::trusted(std::move(text));
}

std::vector<IpAddress> addresses_of(const std::vector<Interface>& interfaces, int version, bool loopback) {
  std::set<IpAddress> found;
  for (const Interface& interface : interfaces) {
    for (const auto& [address, prefix, broadcast, label, scope, secondary] : interface.addresses) {
      if (address.version() == version && (loopback || !address.is_loopback())) found.insert(address);
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "master/embedded/host/interfaces.h"
#include "master/embedded/modules/network_module.h"
#include "master/embedded/modules/replies.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/pattern.h"

namespace rest_fcgi::embedded::network_module {
namespace {

/// Names as callers give them: a list, or a text with commas.
std::vector<std::string> names_in(const JsonValue& value) {
  std::vector<std::string> names;
  if (value.is(JsonValue::Kind::array)) {
    for (const JsonValue name : value.elements()) names.push_back(name.python_str());
    return names;
  }
  std::string rest = value.python_str();
  for (std::size_t comma = rest.find(','); comma != std::string::npos; comma = rest.find(',')) {
    names.push_back(rest.substr(0, comma));
    rest.erase(0, comma + 1);
  }
  names.push_back(rest);
  return names;
}

/// The interfaces whose names match what the caller gave; all for null.
std::vector<Interface> chosen(const JsonValue& patterns) {
  std::vector<Interface> found = host_interfaces();
  if (patterns.is(JsonValue::Kind::null)) return found;
  const std::vector<std::string> names = names_in(patterns);
  std::erase_if(found, [&names](const Interface& interface) {
    return std::none_of(names.begin(), names.end(),
                        [&interface](const std::string& name) { return glob_match(name, interface.name); });
  });
  return found;
}

/// Calls `use` with the interface of that name; Salt's sentence where there is none.
template <class Use>
Reply with_interface(const Call& call, Use use) {
  const std::string name = call.arguments[0].python_str();
  const std::vector<Interface> all = host_interfaces();
  const auto found =
      std::find_if(all.begin(), all.end(), [&name](const Interface& i) { return i.name == name; });
  if (found != all.end()) return use(*found);
  std::string names;
  for (const Interface& interface : all)
    names += format("{}\"{}\"", names.empty() ? "" : ", ", interface.name);
  return Returned{Json::string(format("Interface \"{}\" not in available interfaces: {}", name, names))};
}

Reply addresses(const std::vector<IpAddress>& found) {
  return written([&found](JsonWriter& writer) {
    writer.begin_array();
    for (const IpAddress& address : found) writer.string(address.text());
    writer.end_array();
  });
}

std::vector<IpAddress> within(std::vector<IpAddress> found, const JsonValue& cidr) {
  const auto network = IpNetwork::parse(cidr.text(), true);
  std::erase_if(found, [&network](const IpAddress& a) { return !network || !network->contains(a); });
  return found;
}

std::set<IpNetwork> networks_of(const std::vector<Interface>& interfaces, int version, bool loopback) {
  std::set<IpNetwork> networks;
  for (const Interface& interface : interfaces) {
    for (const InterfaceAddress& one : interface.addresses) {
      if (one.address.version() != version || (one.address.is_loopback() && !loopback)) continue;
      networks.insert(IpNetwork::of(one.address, one.prefix));
    }
  }
  return networks;
}

Reply texts(const std::set<IpNetwork>& networks) {
  return written([&networks](JsonWriter& writer) {
    writer.begin_array();
    for (const IpNetwork& network : networks) writer.string(network.text());
    writer.end_array();
  });
}

/// 2 to the power of `exponent`, which may have more than 64 bits.
std::string power_of_two(unsigned exponent) {
  std::string digits = "1";  // lowest last
  for (unsigned i = 0; i < exponent; ++i) {
    int carry = 0;
    for (std::size_t at = digits.size(); at-- > 0;) {
      const int doubled = (digits[at] - '0') * 2 + carry;
      digits[at] = static_cast<char>('0' + doubled % 10);
      carry = doubled / 10;
    }
    if (carry != 0) digits.insert(0, 1, '1');
  }
  return digits;
}

Reply networks(const Call& call, int version) {
  const auto found = networks_of(chosen(call.arguments[0]), version, python_bool(call.arguments[1]));
  if (!python_bool(call.arguments[2])) return texts(found);
  return written([&found](JsonWriter& writer) {
    writer.begin_object();
    for (const IpNetwork& network : found) {
      writer.key(network.text()).begin_object();
      writer.key("address").string(network.address.text());
      writer.key("netmask").string(network.netmask().text());
      writer.key("num_addresses").raw(power_of_two(network.address.bits() - network.prefix));
      writer.key("prefixlen").integer(network.prefix);
      writer.end_object();
    }
    writer.end_object();
  });
}

}  // namespace

Reply interfaces(const Call&) {
  return Returned{interfaces_json(host_interfaces())};
}

Reply hw_addr(const Call& call) {
  return with_interface(
      call, [](const Interface& interface) -> Reply { return Returned{Json::string(interface.hw_addr)}; });
}

Reply interface(const Call& call) {
  return with_interface(call, [](const Interface& one) -> Reply {
    JsonDocument all;
    (void)all.parse(interfaces_json({one}).text());  // written just now
    const auto inet = all.root().find(one.name).value_or(JsonValue()).find("inet");
    return Returned{inet ? inet->json() : Json::string("")};
  });
}

Reply interface_ip(const Call& call) {
  return with_interface(call, [](const Interface& one) -> Reply {
    const auto found =
        std::find_if(one.addresses.begin(), one.addresses.end(),
                     [](const InterfaceAddress& a) { return a.address.version() == 4 && !a.secondary; });
    return Returned{Json::string(found == one.addresses.end() ? "" : found->address.text())};
  });
}

Reply ifacestartswith(const Call& call) {
  const std::string prefix = call.arguments[0].python_str();
  const std::vector<Interface> all = host_interfaces();
  return written([&](JsonWriter& writer) {
    writer.begin_array();
    for (const Interface& one : all) {
      for (const InterfaceAddress& address : one.addresses) {
        if (address.address.version() != 4 || address.secondary) continue;
        if (address.address.text().starts_with(prefix)) writer.string(address.label);
      }
    }
    writer.end_array();
  });
}

Reply ip_addrs(const Call& call) {
  std::vector<IpAddress> found = addresses_of(chosen(call.arguments[0]), 4, python_bool(call.arguments[1]));
  const std::string_view type = call.arguments[3].text();
  if (python_bool(call.arguments[2])) return addresses(within(std::move(found), call.arguments[2]));
  if (type == "public" || type == "private") {
    std::erase_if(found, [&type](const IpAddress& a) { return a.is_private() != (type == "private"); });
  }
  return addresses(found);
}

Reply ip_addrs6(const Call& call) {
  std::vector<IpAddress> found = addresses_of(chosen(call.arguments[0]), 6, python_bool(call.arguments[1]));
  if (python_bool(call.arguments[2])) found = within(std::move(found), call.arguments[2]);
  return addresses(found);
}

Reply ip_networks(const Call& call) {
  return networks(call, 4);
}

Reply ip_networks6(const Call& call) {
  return networks(call, 6);
}

Reply subnets(const Call& call) {
  std::vector<Interface> found = host_interfaces();
  const JsonValue& wanted = call.arguments[0];
  if (!wanted.is(JsonValue::Kind::null)) {
    std::vector<std::string> names = {wanted.python_str()};
    if (wanted.is(JsonValue::Kind::array)) names = names_in(wanted);
    std::erase_if(found, [&names](const Interface& one) {
      return std::find(names.begin(), names.end(), one.name) == names.end();
    });
  }
  return texts(networks_of(found, 4, false));
}

Reply subnets6(const Call&) {
  return texts(networks_of(host_interfaces(), 6, false));
}

Reply in_subnet(const Call& call) {
  const std::vector<Interface> all = host_interfaces();
  const bool inside = !within(addresses_of(all, 4, false), call.arguments[0]).empty() ||
                      !within(addresses_of(all, 6, false), call.arguments[0]).empty();
  return Returned{Json::boolean(inside)};
}

}  // namespace rest_fcgi::embedded::network_module

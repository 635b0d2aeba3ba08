// SPDX-License-Identifier: MIT
#include <net/if.h>

#include <algorithm>
#include <string>

#include <doctest/doctest.h>
#include <linux/rtnetlink.h>

#include "master/embedded/host/interfaces.h"
#include "master/embedded/host/netlink.h"
#include "master/embedded/host/routes.h"

namespace rest_fcgi::embedded {
namespace {

std::vector<std::string> texts(const std::vector<IpAddress>& addresses) {
  std::vector<std::string> all;
  for (const IpAddress& address : addresses) all.push_back(address.text());
  return all;
}

InterfaceAddress address(std::string_view text, unsigned prefix) {
  return {*IpAddress::parse(text), prefix, std::nullopt, "", "global", false};
}

TEST_CASE("this host has a loopback interface with its address") {
  const std::vector<Interface> all = host_interfaces();
  const auto lo = std::find_if(all.begin(), all.end(), [](const Interface& one) { return one.name == "lo"; });
  REQUIRE(lo != all.end());
  CHECK(lo->hw_addr == "00:00:00:00:00:00");
  if (lo->up) {
    CHECK(lo->addresses.at(0).address.text() == "127.0.0.1");
    CHECK(lo->addresses.at(0).prefix == 8);
    CHECK(lo->addresses.at(0).label == "lo");
  }
}

TEST_CASE("interfaces are shown in the form of network.interfaces") {
  Interface one{
      "eth0.5", "eth0", "02:00:00:00:00:01", true, {address("10.0.0.1", 24), address("fd00::1", 64)}};
  one.addresses[0].label = "eth0.5";
  one.addresses[0].broadcast = IpAddress::parse("10.0.0.255");
  one.addresses.push_back(one.addresses[0]);
  one.addresses[2].secondary = true;
  one.addresses[2].broadcast = std::nullopt;
  CHECK(
      interfaces_json({one, {"tun0", "", "", false, {address("0.0.0.0", 0)}}}).text() ==
      R"({"eth0.5": {"up": true, "parent": "eth0", "hwaddr": "02:00:00:00:00:01", )"
      R"("inet": [{"address": "10.0.0.1", "netmask": "255.255.255.0", "broadcast": "10.0.0.255", "label": "eth0.5"}], )"
      R"("inet6": [{"address": "fd00::1", "prefixlen": "64", "scope": "global"}], )"
      R"("secondary": [{"type": "inet", "address": "10.0.0.1", "netmask": "255.255.255.0", "broadcast": null, )"
      R"("label": "eth0.5"}]}, )"
      R"("tun0": {"up": false, "inet": [{"address": "0.0.0.0", "netmask": "", "broadcast": null, "label": ""}]}})");
}

TEST_CASE("addresses are sorted, each once, and loopback only where asked for") {
  const std::vector<Interface> all = {
      {"a", "", "", true, {address("10.0.0.2", 24), address("fd00::1", 64), address("127.0.0.1", 8)}},
      {"b", "", "", true, {address("9.0.0.1", 24), address("10.0.0.2", 24)}}};
  CHECK(texts(addresses_of(all, 4, false)) == std::vector<std::string>{"9.0.0.1", "10.0.0.2"});
  CHECK(texts(addresses_of(all, 4, true)) == std::vector<std::string>{"9.0.0.1", "10.0.0.2", "127.0.0.1"});
  CHECK(texts(addresses_of(all, 6, false)) == std::vector<std::string>{"fd00::1"});
}

TEST_CASE("a table that the kernel does not have is an error") {
  int entries = 0;
  const auto dumped = dump_kernel_table(0xFFFE, 16, [&entries](const NetlinkEntry&) { ++entries; });
  REQUIRE_FALSE(dumped);
  CHECK(dumped.error().message.starts_with("netlink: "));
  CHECK(entries == 0);
}

TEST_CASE("attributes that are cut off, or of another size, are left out") {
  // A struct of 4 bytes; attribute 3, "lo"; attribute 5, a number; then one that says it is longer than it
  // is.
  const std::string_view bytes("HEAD\7\0\3\0lo\0\0\10\0\5\0\1\2\0\0\100\0\7\0", 24);
  const NetlinkEntry entry(bytes, 4);
  CHECK(entry.text(3) == "lo");
  CHECK(entry.number(5) == 0x201);
  CHECK(entry.number(3) == 0);
  CHECK(entry.attribute(7).empty());
  CHECK(entry.head<std::array<char, 6>>() == std::array<char, 6>{'H', 'E', 'A', 'D', 0, 0});
  CHECK(NetlinkEntry("AB", 4).attribute(1).empty());
}

TEST_CASE("routes are read as netstat shows them") {
  const auto routes = parse_routes(
      "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\n"
      "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
      "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
      "eth0\tnonsense\t00000000\t0001\t0\t0\t0\t00FFFFFF\n"
      "too short\n",
      "fe800000000000000000000000000000 40 00000000000000000000000000000000 00 "
      "00000000000000000000000000000000 "
      "00000100 00000002 00000000 00000001     eth0\n"
      "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
      "fd000000000000000000000000000001 "
      "00000400 00000002 00000000 00000003     eth0\n"
      "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
      "00000000000000000000000000000000 "
      "ffffffff 00000001 00000000 00200200       lo\n"
      "00000000000000000000000000000000 00 zz\n");
  REQUIRE(routes.size() == 5);
  CHECK(routes[0].is_default());
  CHECK(routes[0].gateway == "192.0.2.1");
  CHECK(routes[0].flags == "UG");
  CHECK(routes[1].destination == "192.0.2.0");
  CHECK(routes[1].netmask == "255.255.255.0");
  CHECK(routes[2].destination == "fe80::/64");
  CHECK(routes[3].is_default());
  CHECK(routes[3].gateway == "fd00::1");
  CHECK(routes[4].flags == "!n");
  CHECK(address_of_hex("12345", true).empty());
  CHECK(address_of_hex("0000000x", true).empty());
}

}  // namespace
}  // namespace rest_fcgi::embedded

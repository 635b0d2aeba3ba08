// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "../../../support/execution.h"
#include "master/embedded/host/grains.h"
#include "master/embedded/minion.h"
#include "master/embedded/modules/network_parts.h"

namespace rest_fcgi::embedded {
namespace {

const std::string kException = "The minion function caused an exception: ";

TEST_CASE("connections that stand are told, with IPv4 addresses as such") {
  std::string text;
  JsonWriter writer(text);
  network_parts::write_connections(
      writer,
      "  sl  local_address rem_address   st tx_queue\n   0: 0100007F:1F90 0200007F:0050 01 "
      "00000000:00000000\n"
      "   1: 0100007F:1F90 00000000:0000 0A 0\n   2: nonsense 0200007F:0050 01\n   3: 0100007F:xx "
      "0200007F:0050 01\n",
      "   0: 0000000000000000FFFF00000100007F:0016 00000000000000000000000001000000:FFFF 01 0\n");
  CHECK(
      text ==
      R"({"0": {"local_addr": "127.0.0.1", "local_port": 8080, "remote_addr": "127.0.0.2", "remote_port": 80}, )"
      R"("1": {"local_addr": "127.0.0.1", "local_port": 22, "remote_addr": "::1", "remote_port": 65535}})");
}

TEST_CASE("the ARP table is told without what is incomplete") {
  std::string text;
  JsonWriter writer(text);
  network_parts::write_arp(
      writer,
      "IP address HW type Flags HW address Mask Device\n"
      "10.0.0.1 0x1 0x2 02:00:00:00:00:05 * eth0\n10.0.0.2 0x1 0x0 00:00:00:00:00:00 * eth0\n"
      "10.0.0.3 0x1 0x2 02:00:00:00:00:05 * eth1\n");
  CHECK(text == R"({"02:00:00:00:00:05": "10.0.0.1"})");
}

TEST_CASE("an interface that there is not is named with those that there are") {
  test::Execution m;
  for (const char* fun : {"network.hw_addr", "network.hwaddr", "network.interface", "network.interface_ip"}) {
    CHECK(m.sentence(fun, R"(["nosuch"])")
              .starts_with("Interface \"nosuch\" not in available interfaces: \"lo\""));
  }
  CHECK(m.ret("network.hw_addr", R"(["lo"])") == R"("00:00:00:00:00:00")");
}

TEST_CASE("addresses of this host are chosen by interface, network and type") {
  test::Execution m;
  CHECK(m.ret("network.ip_addrs", R"(["lo"])") == "[]");
  CHECK(m.ret("network.ip_addrs", R"(["nosuch*"])", R"({"include_loopback": true})") == "[]");
  CHECK(m.ret("network.ipaddrs", R"([["lo", "x"], true])") == R"(["127.0.0.1"])");
  CHECK(m.ret("network.ip_addrs", R"(["x,lo", true])", R"({"cidr": "127.0.0.0/8"})") == R"(["127.0.0.1"])");
  CHECK(m.ret("network.ip_addrs", R"(["lo", true])", R"({"cidr": "10.0.0.0/8"})") == "[]");
  CHECK(m.ret("network.ip_addrs", R"(["lo", true])", R"({"cidr": "127.0.0.1/8"})") == "[]");
  CHECK(m.ret("network.ip_addrs", R"(["lo", true])", R"({"type": "public"})") == "[]");
  CHECK(m.ret("network.ip_addrs", R"(["lo", true])", R"({"type": "private"})") == R"(["127.0.0.1"])");
  CHECK(m.ret("network.ip_addrs6", R"(["lo"])", R"({"cidr": "::/0"})") == "[]");
  CHECK(m.ret("network.ip_networks", R"(["lo", true])") == R"(["127.0.0.0/8"])");
  CHECK(
      m.ret("network.ip_networks", R"(["lo", true, true])") ==
      R"({"127.0.0.0/8": {"address": "127.0.0.0", "netmask": "255.0.0.0", "num_addresses": 16777216, "prefixlen": 8}})");
  CHECK(m.ret("network.subnets", R"(["lo"])") == "[]");
  CHECK(m.ret("network.subnets", R"([["lo"]])") == "[]");
  CHECK(m.ret("network.in_subnet", R"(["127.0.0.0/8"])") == "false");
  CHECK(m.ret("network.ifacestartswith", R"(["127.0.0"])") == R"(["lo"])");
}

TEST_CASE("addresses and networks are computed as Python computes them") {
  test::Execution m;
  CHECK(m.ret("network.calc_net", R"(["172.17.0.5", "255.255.255.240"])") == R"("172.17.0.0/28")");
  CHECK(m.ret("network.convert_cidr", R"(["172.31.5.0/16"])") ==
        R"({"network": "172.31.0.0", "netmask": "255.255.0.0", "broadcast": "172.31.255.255"})");
  CHECK(m.ret("network.ip_in_subnet", R"(["172.17.0.4", "172.16.0.0/12"])") == "true");
  CHECK(m.ret("network.ip_in_subnet", R"([["1.2.3.4", "172.17.0.4"], "172.16.0.0/12"])") == "true");
  CHECK(m.ret("network.ip_in_subnet", R"(["1.2.3.4", "172.16.0.0/12"])") == "false");
  CHECK(m.ret("network.ip_in_subnet", R"(["1.2.3.4", "nonsense"])") == "false");
  CHECK(m.ret("network.is_private", R"(["10.0.0.3"])") == "true");
  CHECK(m.ret("network.is_loopback", R"(["10.0.0.3"])") == "false");
  CHECK(m.ret("network.reverse_ip", R"(["10.0.0.3"])") == R"("3.0.0.10.in-addr.arpa")");
  CHECK(m.ret("network.iphexval", R"(["10.0.0.255"])") == R"("0A0000FF")");
}

TEST_CASE("what is no address or network is named") {
  test::Execution m;
  for (const char* fun : {"network.is_private", "network.is_loopback", "network.reverse_ip"}) {
    CHECK(m.sentence(fun, R"(["x"])") ==
          kException + "ValueError: 'x' does not appear to be an IPv4 or IPv6 address");
  }
  CHECK(m.sentence("network.is_private", "[null]") ==
        kException + "ValueError: None does not appear to be an IPv4 or IPv6 address");
  CHECK(m.sentence("network.ip_in_subnet", R"(["x", "10.0.0.0/8"])") ==
        kException + "ValueError: 'x' does not appear to be an IPv4 or IPv6 address");
  for (const char* fun : {"network.calc_net", "network.convert_cidr"}) {
    CHECK(m.sentence(fun, R"(["x"])") ==
          kException + "ValueError: 'x' does not appear to be an IPv4 or IPv6 network");
  }
  CHECK(m.sentence("network.iphexval", R"(["a.b"])") ==
        kException + "ValueError: invalid literal for int() with base 10: 'a'");
}

TEST_CASE("routes are chosen by address family") {
  test::Execution m;
  for (const char* fun : {"network.routes", "network.default_route"}) {
    CHECK(m.ret(fun).starts_with("["));
    CHECK(m.ret(fun, R"(["inet"])").find("inet6") == std::string::npos);
    CHECK(m.sentence(fun, R"(["ipx"])") == "ERROR: Invalid address family ipx");
  }
}

TEST_CASE("the host's names are told without a name server") {
  test::Execution m;
  CHECK(m.ret("network.get_hostname") == Json::string(host_name()).text());
  CHECK(m.ret("network.get_fqdn").size() > 2);
  CHECK(m.ret("network.active_tcp").starts_with("{"));
  CHECK(m.ret("network.arp").starts_with("{"));
}

}  // namespace
}  // namespace rest_fcgi::embedded

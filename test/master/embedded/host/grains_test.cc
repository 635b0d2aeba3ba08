// SPDX-License-Identifier: MIT
#include "master/embedded/host/grains.h"

#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "rest_fcgi/core/json_document.h"

namespace rest_fcgi::embedded {
namespace {

std::string written(const std::function<void(JsonWriter&)>& write) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  write(writer);
  writer.end_object();
  return text;
}

std::string cpu(std::string_view text) {
  return written([text](JsonWriter& writer) { write_cpu_grains(writer, text); });
}

std::string virtual_of(const VirtualSigns& signs) {
  return written([&signs](JsonWriter& writer) { write_virtual_grains(writer, signs); });
}

TEST_CASE("cpu grains are those of the last processor, virtual grains have Salt's names") {
  CHECK(cpu("processor\t: 0\nvendor_id : AMD\nmodel name : A\nflags\t\t: fpu vme\n\nprocessor : 1\nmodel "
            "name : B\n") == R"({"num_cpus": 2, "cpu_model": "B", "cpu_flags": ["fpu", "vme"]})");
  CHECK(cpu("vendor_id : IBM\n# processors : 4\n") ==
        R"({"num_cpus": 4, "cpu_model": "IBM", "cpu_flags": []})");
  CHECK(cpu("processor : 0\nFeatures : fp asimd\n") ==
        R"({"num_cpus": 1, "cpu_model": "Unknown", "cpu_flags": ["fp", "asimd"]})");
  CHECK(cpu("") == R"({"num_cpus": 0, "cpu_model": "Unknown", "cpu_flags": []})");
  CHECK(virtual_of({}) == R"({"virtual": "physical"})");
  CHECK(virtual_of({"docker", "", true}) == R"({"virtual": "container", "virtual_subtype": "Docker"})");
  CHECK(virtual_of({"lxc", "QEMU", true}) == R"({"virtual": "container", "virtual_subtype": "LXC"})");
  CHECK(virtual_of({"systemd-nspawn", "", false}) == R"({"virtual": "systemd-nspawn"})");
  CHECK(virtual_of({"", "QEMU\nStandard PC\n", true}) == R"({"virtual": "kvm"})");
  CHECK(virtual_of({"", "VMware, Inc.\n", true}) == R"({"virtual": "VMware"})");
  CHECK(virtual_of({"", "Amazon EC2\n", true}) == R"({"virtual": "Nitro", "virtual_subtype": "Amazon EC2"})");
  CHECK(virtual_of({"", "unknown vendor", true}) == R"({"virtual": "kvm"})");
  CHECK(virtual_of({"", "ThinkPad", false}) == R"({"virtual": "physical"})");
}

TEST_CASE("the first name on the line of /etc/hosts is the fully qualified one") {
  const HostNames names = names_in(
      "127.0.0.1 localhost # web\n10.0.0.5\tweb.example.org web\nfd00::5 web.example.org\n10.0.0.4 "
      "web.example.org\nnonsense web.example.org\n",
      "web");
  CHECK(names.fqdn == "web.example.org");
  REQUIRE(names.addresses.size() == 3);
  CHECK(names.addresses[0].text() == "10.0.0.4");
  CHECK(names.addresses[1].text() == "10.0.0.5");
  CHECK(names.addresses[2].text() == "fd00::5");
  CHECK(names_in("127.0.0.1 localhost\n", "web").fqdn == "web");
  CHECK(names_in("127.0.0.1 localhost\n", "web").addresses.empty());
}

TEST_CASE("the domain is the part after the first dot of a fully qualified name") {
  const auto names = [](const HostNames& host) {
    return written([&host](JsonWriter& writer) { write_name_grains(writer, host); });
  };
  CHECK(names({"web.example.org", {*IpAddress::parse("10.0.0.5"), *IpAddress::parse("fd00::5")}}) ==
        R"({"fqdn": "web.example.org", "host": "web", "domain": "example.org", "fqdn_ip4": ["10.0.0.5"], )"
        R"("fqdn_ip6": ["fd00::5"]})");
  CHECK(names({"web", {}}) ==
        R"({"fqdn": "web", "host": "web", "domain": "", "fqdn_ip4": [], "fqdn_ip6": []})");
}

TEST_CASE("write_address_grains lists addresses by interface, the secondary ones of an IPv4 network last") {
  const auto address = [](std::string_view text) {
    return NetworkInterface::Address{*IpAddress::parse(text), 24};
  };
  const std::vector<NetworkInterface> all = {{"e",
                                              "02:00",
                                              {address("10.0.0.1"), address("10.0.0.2"), address("10.0.1.1"),
                                               address("fd00::1"), address("fd00::2")}},
                                             {"t", "", {}}};
  CHECK(written([&all](JsonWriter& writer) { write_address_grains(writer, all); }) ==
        R"({"hwaddr_interfaces": {"e": "02:00"}, )"
        R"("ip_interfaces": {"e": ["10.0.0.1", "10.0.1.1", "fd00::1", "fd00::2", "10.0.0.2"], "t": []}, )"
        R"("ip4_interfaces": {"e": ["10.0.0.1", "10.0.1.1", "10.0.0.2"], "t": []}, )"
        R"("ip6_interfaces": {"e": ["fd00::1", "fd00::2"], "t": []}, )"
        R"("ipv4": ["10.0.0.1", "10.0.0.2", "10.0.1.1"], "ipv6": ["fd00::1", "fd00::2"]})");
}

TEST_CASE("a gateway grain is an address, true for a route without one, or false") {
  const auto gateways = [](std::string_view route, std::string_view ipv6_route) {
    return written([&](JsonWriter& writer) { write_gateway_grains(writer, route, ipv6_route); });
  };
  CHECK(gateways("", "") == R"({"ip_gw": false, "ip4_gw": false, "ip6_gw": false})");
  const std::string zeros(32, '0');
  const std::string rejected =
      zeros + " 00 " + zeros + " 00 " + zeros + " ffffffff 00000001 00000000 00200200       lo\n";
  CHECK(gateways("Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\n"
                 "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
                 "eth1\t00000000\t020200C0\t0002\t0\t0\t0\t00000000\t0\t0\t0\n"
                 "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
                 "too short\n",
                 rejected) == R"({"ip_gw": true, "ip4_gw": "192.0.2.1", "ip6_gw": false})");
  CHECK(gateways("", rejected + zeros + " 00 " + zeros +
                         " 00 fd000000000000000000000000000001 00000400 00000002 00000000 "
                         "00000003     eth0\n") ==
        R"({"ip_gw": true, "ip4_gw": false, "ip6_gw": "fd00::1"})");
  CHECK(gateways("", zeros + " 00 " + zeros + " 00 " + zeros +
                         " 00000400 00000002 00000000 00000001     tun0\n") ==
        R"({"ip_gw": true, "ip4_gw": false, "ip6_gw": true})");
}

}  // namespace

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/address.h"

#include <string>
#include <string_view>

#include <doctest/doctest.h>

namespace rest_fcgi {
namespace {

using namespace std::string_literals;

IpAddress address(std::string_view text) {
  const auto parsed = IpAddress::parse(text);
  CAPTURE(text);
  REQUIRE(parsed);
  return *parsed;
}

TEST_CASE("an address is written in its shortest form, and other text is refused") {
  for (const std::string text : {"0.0.0.0", "192.0.2.255", "::", "::1", "1::", "fe80::fc:ff:fe00:1",
                                 "1:0:2:3:4:5:6:7", "1:2::7:0:0:8", "2001:db8::1"}) {
    CHECK(address(text).text() == text);
  }
  CHECK(address("0001:0:0:0:0:0:0:0001").text() == "1::1");
  CHECK(address("192.0.2.7").mapped() == address("::ffff:192.0.2.7"));
  CHECK(address("::ffff:192.0.2.7").unmapped() == address("192.0.2.7"));
  CHECK(address("::192.0.2.7").unmapped() == address("::192.0.2.7"));
  CHECK(address("192.0.2.7").bytes() == "\xc0\x00\x02\x07"s);
  for (const std::string_view text :
       {std::string_view(""), std::string_view("1.2.3"), std::string_view("1.2.3.256"),
        std::string_view("1.2.3.04"), std::string_view(":::"), std::string_view("x"),
        std::string_view("1.2.3.4\0", 8), std::string_view("10.0.0.0/8")}) {
    CHECK_FALSE(IpAddress::parse(text));
  }
  CHECK_FALSE(IpAddress::of_bytes("abc"));
  CHECK(IpAddress::of_bytes(std::string_view("\x7f\0\0\1", 4))->text() == "127.0.0.1");
}

TEST_CASE(
    "a network is read with a prefix length or a netmask, and contains the addresses with its first bits") {
  for (const char* text : {"172.16.0.0/12", "172.16.0.0/255.240.0.0"}) {
    CAPTURE(text);
    const auto network = IpNetwork::parse(text);
    REQUIRE(network);
    CHECK(network->address.text() == "172.16.0.0");
    CHECK(network->prefix == 12);
  }
  CHECK(IpNetwork::parse("10.1.2.3")->prefix == 32);
  CHECK(IpNetwork::parse("0.0.0.0/0")->prefix == 0);
  CHECK(address("fd00::5").masked(64).text() == "fd00::");
  CHECK(IpNetwork::around("[2001:db8::7]/32") == IpNetwork::parse("2001:db8::/32"));
  for (const char* text : {"", "x/8", "172.16.5.4/12", "[::1]", "1.2.3.4/33", "1.2.3.4/",
                           "1.2.3.4/255.0.255.0", "::/129", "::/255.0.0.0", "1.2.3.4/8/8", "1.2.3.4/-1"}) {
    CHECK_FALSE_MESSAGE(IpNetwork::parse(text), text);
  }
  const IpNetwork network = *IpNetwork::parse("172.16.0.0/12");
  CHECK(network.contains(address("172.31.255.255")));
  CHECK_FALSE(network.contains(address("172.32.0.0")));
  CHECK_FALSE(network.contains(address("::ffff:172.16.0.1")));
  CHECK(IpNetwork::parse("0.0.0.0/0")->contains(address("1.2.3.4")));
}

TEST_CASE("HOST:PORT is read with brackets around IPv6 addresses only, and written again") {
  struct Row {
    const char* text;
    const char* host;
    unsigned port;
  };
  for (const Row& row :
       {Row{"127.0.0.1:1", "127.0.0.1", 1}, Row{"node_1.example-2.org:65535", "node_1.example-2.org", 65535},
        Row{"[::1]:80", "::1", 80}, Row{"[fe80::1%eth0]:80", "fe80::1%eth0", 80}}) {
    CAPTURE(row.text);
    const auto parsed = parse_host_port(row.text);
    REQUIRE(parsed);
    CHECK(parsed->host == row.host);
    CHECK(parsed->port == row.port);
    CHECK(host_port_text(parsed->host, parsed->port) == row.text);
  }
  for (const char* text : {"",
                           ":",
                           "h",
                           "h:",
                           ":80",
                           "h:0",
                           "h:65536",
                           "h:-1",
                           "h:8x",
                           "h: 8",
                           "a b:80",
                           "::1:80",
                           "::1",
                           "[::1]",
                           "[::1:80",
                           "::1]:80",
                           "[h]:80",
                           "[]:80",
                           "[127.0.0.1]:80",
                           "[g::]:80",
                           "256.0.0.1:80",
                           "user@h:80",
                           "*:80"}) {
    CHECK_FALSE_MESSAGE(parse_host_port(text), text);
  }
}

}  // namespace
}  // namespace rest_fcgi

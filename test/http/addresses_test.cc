// SPDX-License-Identifier: MIT
#include "rest_fcgi/http/addresses.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace rest_fcgi::http {
namespace {

Addresses addresses(const std::vector<std::string>& texts) {
  auto made = Addresses::make(texts);
  REQUIRE(made);
  return *std::move(made);
}

}  // namespace

TEST_CASE("IPv4 and IPv6 addresses and networks are matched") {
  const Addresses some = addresses({"192.0.2.7", "198.51.100.0/25", "2001:db8::/33"});
  for (const char* const in : {"192.0.2.7", "::ffff:192.0.2.7", "198.51.100.127", "2001:db8:7fff::1"}) {
    CHECK_MESSAGE(some.has(in), in);
  }
  for (const char* const out :
       {"192.0.2.8", "198.51.100.128", "2001:db8:8000::1", "", "nonsense", "192.0.2"}) {
    CHECK_MESSAGE(!some.has(out), out);
  }
  CHECK(addresses({"*"}).has(""));
  CHECK(addresses({"0.0.0.0/0"}).has("203.0.113.1"));
  CHECK_FALSE(addresses({"0.0.0.0/0"}).has("2001:db8::1"));
  CHECK_FALSE(addresses({}).has("192.0.2.7"));
}

TEST_CASE("a malformed address is named in the error") {
  for (const char* const bad :
       {"", "host", "192.0.2.0/33", "2001:db8::/129", "192.0.2.0/", "192.0.2.0/x", "1.2.3"}) {
    const auto made = Addresses::make({bad});
    REQUIRE_MESSAGE(!made, bad);
    CHECK(made.error().kind == ErrorKind::configuration);
    CHECK(made.error().message.starts_with("found '" + std::string(bad) + "', expected an address"));
  }
}

TEST_CASE("client_behind uses X-Forwarded-For, then X-Real-IP, of a trusted proxy, else the peer") {
  const Addresses proxies = addresses({"127.0.0.0/8", "::1", "10.0.0.0/8"});
  struct Row {
    const char* peer;
    const char* forwarded_for;
    const char* real_ip;
    const char* client;
  };
  const Row rows[] = {
      {"127.0.0.1", "192.0.2.7", "203.0.113.9", "192.0.2.7"},
      {"127.0.0.1", "", "203.0.113.9", "203.0.113.9"},
      {"127.0.0.1", "unknown", " 203.0.113.9 ", "203.0.113.9"},
      {"127.0.0.1", "203.0.113.9, 127.0.0.1", "", "203.0.113.9"},
      {"127.0.0.1", "203.0.113.5, 192.0.2.7 ,\t10.1.1.1", "", "192.0.2.7"},
      {"127.0.0.1", "10.1.1.1, 10.1.1.2", "", "10.1.1.1"},
      {"127.0.0.1", "", "", "127.0.0.1"},
      {"127.0.0.1", "", "192.0.2.7, 203.0.113.9", "127.0.0.1"},
      {"::1", "2001:db8::7", "", "2001:db8::7"},
      {"198.51.100.1", "192.0.2.7", "192.0.2.7", "198.51.100.1"},
      // An address may have a port and brackets.
      {"127.0.0.1", "192.0.2.7:4711", "", "192.0.2.7"},
      {"127.0.0.1", "2001:DB8:0::7", "", "2001:db8::7"},
      {"127.0.0.1", "[2001:db8::7]", "", "2001:db8::7"},
      {"127.0.0.1", "[2001:db8::7]:80", "", "2001:db8::7"},
      {"127.0.0.1", "::ffff:192.0.2.7", "", "192.0.2.7"},
      {"127.0.0.1", "::ffff:c000:207", "", "192.0.2.7"},
      {"127.0.0.1", "192.0.2.7, ::ffff:127.0.0.1", "", "192.0.2.7"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.forwarded_for);
    CHECK(client_behind(proxies, row.peer, row.forwarded_for, row.real_ip) == row.client);
  }
  for (const std::string garbage :
       {"unknown", "_hidden", "'; drop", "192.0.2", "192.0.2.7:", "192.0.2.7:99999", "[2001:db8::1", "[]",
        "2001:db8::1]", "fe80::1%eth0", "192.0.2.7/24", "0x7f.1", ",", "localhost"}) {
    CAPTURE(garbage);
    CHECK(client_behind(proxies, "127.0.0.1", garbage, "") == "127.0.0.1");
    CHECK(client_behind(proxies, "127.0.0.1", "", garbage) == "127.0.0.1");
    CHECK(client_behind(proxies, "127.0.0.1", "192.0.2.7, " + garbage, "") == "127.0.0.1");
  }
  CHECK(client_behind(addresses({}), "127.0.0.1", "192.0.2.7", "") == "127.0.0.1");
}

TEST_CASE("is_loopback accepts loopback addresses and localhost") {
  for (const char* const host : {"127.0.0.1", "127.8.8.8", "::1", "localhost", "::ffff:127.0.0.1"})
    CHECK(is_loopback(host));
  for (const char* const host : {"0.0.0.0", "::", "10.0.0.1", "salt", "", "127.0.0.1.example.org"})
    CHECK(!is_loopback(host));
}

TEST_CASE("network_of gives one network for all spellings of an IPv4 address and for an IPv6 /64") {
  CHECK(network_of("192.0.2.7") == std::string("\xc0\x00\x02\x07", 4));
  for (const char* same : {"::ffff:192.0.2.7", "64:ff9b::c000:207"})
    CHECK(network_of(same) == network_of("192.0.2.7"));
  CHECK(network_of("192.0.2.8") != network_of("192.0.2.7"));
  CHECK(network_of("2001:db8:1:2::1") == network_of("2001:db8:1:2:ffff::2"));
  CHECK(network_of("2001:db8:1:2::1") != network_of("2001:db8:1:3::1"));
  for (const char* text : {"", "unix:", "192.0.2.7.8"}) CHECK(network_of(text) == text);
}

}  // namespace rest_fcgi::http

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

TEST_CASE("addresses and networks of both kinds are found") {
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

TEST_CASE("what is no address is named") {
  for (const char* const bad :
       {"", "host", "192.0.2.0/33", "2001:db8::/129", "192.0.2.0/", "192.0.2.0/x", "1.2.3"}) {
    const auto made = Addresses::make({bad});
    REQUIRE_MESSAGE(!made, bad);
    CHECK(made.error().kind == ErrorKind::configuration);
    CHECK(made.error().message.starts_with("'" + std::string(bad) + "' is no address"));
  }
}

TEST_CASE("who comes through a proxy that is believed has the address that it says, and nobody else") {
  const Addresses proxies = addresses({"127.0.0.1", "10.0.0.0/8"});
  CHECK(client_behind(proxies, "127.0.0.1", "192.0.2.7") == "192.0.2.7");
  CHECK(client_behind(proxies, "127.0.0.1", "2001:db8::7") == "2001:db8::7");
  CHECK(client_behind(proxies, "127.0.0.1", "203.0.113.5, 192.0.2.7 ,\t10.1.1.1") == "192.0.2.7");
  CHECK(client_behind(proxies, "127.0.0.1", "10.1.1.1, 10.1.1.2") == "10.1.1.1");
  CHECK(client_behind(proxies, "127.0.0.1", "") == "127.0.0.1");
  CHECK(client_behind(proxies, "127.0.0.1", "192.0.2.7, unknown") == "127.0.0.1");
  CHECK(client_behind(proxies, "127.0.0.1", "192.0.2.7,") == "127.0.0.1");
  CHECK(client_behind(proxies, "198.51.100.1", "192.0.2.7") == "198.51.100.1");
  CHECK(client_behind(addresses({}), "127.0.0.1", "192.0.2.7") == "127.0.0.1");
}

}  // namespace rest_fcgi::http

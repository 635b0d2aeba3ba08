// SPDX-License-Identifier: MIT
#include "auth/guard_key.h"

#include <doctest/doctest.h>

namespace rest_fcgi::auth {

TEST_CASE("an IPv4 address stands for itself, however it is written") {
  CHECK(network_of("192.0.2.7") == network_of("::ffff:192.0.2.7"));
  CHECK(network_of("192.0.2.7") != network_of("192.0.2.8"));
}

TEST_CASE("an IPv6 address stands for its network of 64 bits") {
  CHECK(network_of("2001:db8:1:2::7") == network_of("2001:db8:1:2:ffff::8"));
  CHECK(network_of("2001:db8:1:2::7") != network_of("2001:db8:1:3::7"));
}

TEST_CASE("what is no address stands for itself") {
  CHECK(network_of("").empty());
  CHECK(network_of("unix:") == "unix:");
  CHECK(network_of("192.0.2.7 ") != network_of("192.0.2.7"));
}

}  // namespace rest_fcgi::auth

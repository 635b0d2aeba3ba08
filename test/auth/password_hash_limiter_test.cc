// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/password_hash_limiter.h"

#include <doctest/doctest.h>

namespace rest_fcgi::auth {

TEST_CASE("the addresses of an IPv6 /64 count as one client network") {
  PasswordHashLimiter limiter({.at_once = 3, .of_one = 1});
  const auto enter = [&limiter](std::string_view remote) { return limiter.enter(remote, SteadyTime()); };
  const auto pass = enter("2001:db8:1:1::1");
  CHECK(pass);
  CHECK(enter("2001:db8:1:1::2").error().kind == ErrorKind::timeout);
  CHECK(enter("2001:db8:1:2::1"));
  CHECK(enter("192.0.2.7"));
}

}  // namespace rest_fcgi::auth

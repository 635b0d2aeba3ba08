// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/rsa_pair.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

#include "../support/temp_dir.h"

using namespace rest_fcgi;

TEST_CASE("a pair is in the forms that a minion reads, and its halves belong together") {
  const auto pair = auth::RsaPair::make(2048);
  REQUIRE(pair);
  CHECK(pair->priv.reveal().text.starts_with("-----BEGIN RSA PRIVATE KEY-----\n"));
  CHECK(pair->priv.reveal().text.ends_with("-----END RSA PRIVATE KEY-----\n"));
  CHECK(pair->pub.starts_with("-----BEGIN PUBLIC KEY-----\n"));
  CHECK(pair->pub.ends_with("-----END PUBLIC KEY-----\n"));
  CHECK(pair->fingerprint.size() == 32 * 3 - 1);
  CHECK(pair->fingerprint.find_first_not_of("0123456789abcdef:") == std::string::npos);

  const test::TempDir dir;
  const std::string priv = dir.write("priv", pair->priv.reveal().text);
  const std::string pub = dir.write("pub", pair->pub);
  CHECK(std::system(("openssl rsa -in " + priv + " -pubout 2>/dev/null | cmp -s - " + pub).c_str()) == 0);
  CHECK(std::system(("test \"$(sed '1d;$d' " + pub +
                     " | sha256sum | cut -c1-64 | sed 's/../&:/g;s/:$//')\" = " + pair->fingerprint)
                        .c_str()) == 0);
  CHECK(auth::RsaPair::make(2048)->pub != pair->pub);
}

TEST_CASE("no pair is made of too few bits") {
  CHECK_FALSE(auth::RsaPair::make(1));
}

// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/rsa_pair.h"

#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

#include "../support/temp_dir.h"

using namespace rest_fcgi;

TEST_CASE("a pair is in the formats of minions, and its halves belong together") {
  const auto pair = *auth::RsaPair::make(2048);
  CHECK(pair.priv.reveal().text.starts_with("-----BEGIN RSA PRIVATE KEY-----\n"));
  CHECK(pair.priv.reveal().text.ends_with("-----END RSA PRIVATE KEY-----\n"));
  CHECK(pair.pub.starts_with("-----BEGIN PUBLIC KEY-----\n"));
  CHECK(pair.pub.ends_with("-----END PUBLIC KEY-----\n"));
  const std::string fingerprint = *auth::fingerprint_of(auth::pem_body(pair.pub), "sha256");

  const test::TempDir dir;
  const std::string priv = dir.write("priv", pair.priv.reveal().text);
  const std::string pub = dir.write("pub", pair.pub);
  CHECK(std::system(("openssl rsa -in " + priv + " -pubout 2>/dev/null | cmp -s - " + pub).c_str()) == 0);
  CHECK(std::system(("test \"$(sed '1d;$d' " + pub +
                     " | sha256sum | cut -c1-64 | sed 's/../&:/g;s/:$//')\" = " + fingerprint)
                        .c_str()) == 0);
  CHECK(auth::RsaPair::make(2048)->pub != pair.pub);
  CHECK_FALSE(auth::RsaPair::make(1));
}

TEST_CASE("fingerprints are those of Salt, and an unknown hash type is refused") {
  CHECK(*auth::fingerprint_of("abc", "md5") == "90:01:50:98:3c:d2:4f:b0:d6:96:3f:7d:28:e1:7f:72");
  CHECK(auth::fingerprint_of("abc", "sha512")->size() == 64 * 3 - 1);
  CHECK(auth::fingerprint_of("abc", "crc32").error().kind == ErrorKind::invocation);
}

// SPDX-License-Identifier: MIT
#include "auth/digest.h"

#include <doctest/doctest.h>

namespace rest_fcgi::auth {

TEST_CASE("a digest is that of its parts one right after the other") {
  const auto sha256 = DigestAlgorithm::fetch("SHA256");
  REQUIRE(sha256);
  const std::string expected = "d0c04f4b1951e4aeaaec8223ed2039e542f3aae805a6fa7f6d794e5afff5d272";
  CHECK(to_hex(sha256->of({"sesame"})) == expected);
  CHECK(to_hex(sha256->of({"", "ses", "ame"})) == expected);
  CHECK(sha256_digits({"ses", "ame"}) == expected);
}

TEST_CASE("a digest that OpenSSL does not offer is a configuration error with its name") {
  const auto unknown = DigestAlgorithm::fetch("ROT13");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().kind == ErrorKind::configuration);
  CHECK(unknown.error().message.find("ROT13") != std::string::npos);
}

TEST_CASE("a keyed digest depends on its key and on the borders of its parts") {
  const KeyedDigest digest;
  CHECK(digest.of({"ab", "c", "d"}) == digest.of({"ab", "c", "d"}));
  CHECK(digest.of({"ab", "c", "d"}) != digest.of({"a", "bc", "d"}));
  CHECK(digest.of({"ab", "c", "d"}) != digest.of({"ab", "cd", ""}));
  CHECK(digest.of({"a"}) != KeyedDigest().of({"a"}));
}

}  // namespace rest_fcgi::auth

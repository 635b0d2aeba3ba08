// SPDX-License-Identifier: MIT
#include "auth/digest.h"

#include <doctest/doctest.h>

namespace rest_fcgi::auth {
namespace {

std::string hex(std::string_view bytes) {
  const WipedBytes digits = to_hex(bytes);
  return {digits.begin(), digits.end()};
}

}  // namespace

TEST_CASE("a digest is that of its parts one right after the other") {
  const auto sha256 = DigestAlgorithm::fetch("SHA256");
  REQUIRE(sha256);
  const std::string expected = "d0c04f4b1951e4aeaaec8223ed2039e542f3aae805a6fa7f6d794e5afff5d272";
  CHECK(hex(sha256->of({"sesame"}).view()) == expected);
  CHECK(hex(sha256->of({"", "ses", "ame"}).view()) == expected);
}

TEST_CASE("a digest that OpenSSL does not offer is named") {
  const auto unknown = DigestAlgorithm::fetch("ROT13");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().kind == ErrorKind::configuration);
  CHECK(unknown.error().message == "OpenSSL does not offer ROT13 on this host");
}

TEST_CASE("a keyed digest knows where one part ends and the next begins") {
  const auto digest = KeyedDigest::make();
  REQUIRE(digest);
  CHECK(digest->of("ab", "c", "d") == digest->of("ab", "c", "d"));
  CHECK(digest->of("ab", "c", "d") != digest->of("a", "bc", "d"));
  CHECK(digest->of("ab", "c", "d") != digest->of("ab", "cd", ""));
}

TEST_CASE("each keyed digest has a key of its own") {
  CHECK(KeyedDigest::make()->of("a") != KeyedDigest::make()->of("a"));
}

TEST_CASE("bytes are two hexadecimal digits each") {
  CHECK(hex(std::string_view("\x00\x1f\xff", 3)) == "001fff");
}

}  // namespace rest_fcgi::auth

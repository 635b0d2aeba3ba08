// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/hasher.h"

#include <doctest/doctest.h>

namespace rest_fcgi::auth {
namespace {

TEST_CASE("hashes of pieces are those of the whole, as Python's hashlib has them") {
  const auto digits = [](std::string_view name) {
    auto hasher = Hasher::make(name);
    REQUIRE(hasher);
    hasher->update("a");
    hasher->update("bc");
    return hasher->finish();
  };
  CHECK(digits("md5") == "900150983cd24fb0d6963f7d28e17f72");
  CHECK(digits("sha1") == "a9993e364706816aba3e25717850c26c9cd0d89d");
  CHECK(digits("sha256") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(digits("blake2s") == "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982");
  for (const char* name :
       {"sha224", "sha384", "sha512", "sha3_224", "sha3_256", "sha3_384", "sha3_512", "blake2b"}) {
    CHECK(digits(name).size() >= 56);
  }
}

TEST_CASE("a hash that there is not is absent") {
  CHECK_FALSE(Hasher::make("crc32"));
  CHECK_FALSE(Hasher::make("SHA256"));
}

}  // namespace
}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#include "auth/sip_hash.h"

#include <string>

#include <doctest/doctest.h>

namespace rest_fcgi::auth {

TEST_CASE("the hash is SipHash-2-4, by the vectors of its authors") {
  const SipKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  std::string text;
  for (int i = 0; i < 15; ++i) text.push_back(static_cast<char>(i));
  CHECK(sip_hash(key, {}) == 0x726fdb47dd0e0e31);
  CHECK(sip_hash(key, text.substr(0, 1)) == 0x74f839c593dc67fd);
  CHECK(sip_hash(key, text.substr(0, 8)) == 0x93f5f5799a932462);
  CHECK(sip_hash(key, text) == 0xa129ca6149be45e5);
}

TEST_CASE("another key gives another hash") {
  CHECK(sip_hash({1, 2}, "fred") != sip_hash({1, 3}, "fred"));
  CHECK(sip_hash({1, 2}, "fred") != sip_hash({2, 2}, "fred"));
}

}  // namespace rest_fcgi::auth

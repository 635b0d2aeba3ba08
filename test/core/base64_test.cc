// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/base64.h"

#include <string>
#include <utility>

#include <doctest/doctest.h>

using namespace rest_fcgi;

TEST_CASE("base64 is written and read as RFC 4648 says, and malformed base64 is refused") {
  const std::pair<std::string, std::string> vectors[] = {
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"},
      {std::string(1, '\0'), "AA=="},
      {"\xfb\xff\xbf", "+/+/"},
      {"/salt/return/minions/m1", "L3NhbHQvcmV0dXJuL21pbmlvbnMvbTE="},
      {"\xa9\"_return\"", "qSJfcmV0dXJuIg=="},
  };
  for (const auto& [bytes, text] : vectors) {
    std::string encoded;
    append_base64(encoded, bytes);
    CHECK(encoded == text);
    CHECK(from_base64(text) == bytes);
    CHECK(decoded_base64(text) == bytes);
  }
  for (const std::string text : {"Zg", "Zg=", "Z===", "====", "Zm9v=", "Zg==Zg==", "Zm-v", "Zm_v", "Zm9v\n",
                                 "Zm 9", "=m9v", "Zh==", "Zm9=", "Z=9v"}) {
    CAPTURE(text);
    CHECK_FALSE(from_base64(text).has_value());
  }
}

TEST_CASE("decoded_base64 reads base64 as Python does") {
  CHECK(decoded_base64(" Z_m\n9v") == "foo");
  CHECK(decoded_base64("Zh==") == "f");
  CHECK(decoded_base64("Zg==Zg==") == "f");
  for (const std::string text : {"Z", "Zg", "Zg=", "Z===", "Zm8"}) {
    CAPTURE(text);
    CHECK_FALSE(decoded_base64(text).has_value());
  }
}

// SPDX-License-Identifier: MIT
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "etcd/kv.h"

namespace rest_fcgi::etcd {
namespace {

std::string encoded(std::string_view bytes) {
  std::string text;
  append_base64(text, bytes);
  return text;
}

TEST_CASE("base64 is that of RFC 4648, in both directions") {
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
    CHECK(encoded(bytes) == text);
    CHECK(from_base64(text) == bytes);
    CHECK(base64_size(bytes.size()) == text.size());
  }
}

TEST_CASE("every byte survives base64") {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  CHECK(from_base64(encoded(bytes)) == bytes);
}

TEST_CASE("what is not exactly base64 is refused") {
  for (const std::string text : {"Zg", "Zg=", "Z===", "====", "Zm9v=", "Zg==Zg==", "Zm-v", "Zm_v", "Zm9v\n",
                                 "Zm 9", "=m9v", "Zh==", "Zm9=", "Z=9v"}) {
    CAPTURE(text);
    CHECK_FALSE(from_base64(text).has_value());
  }
}

}  // namespace
}  // namespace rest_fcgi::etcd

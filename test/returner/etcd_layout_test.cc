// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "returner/etcd/layout.h"

namespace rest_fcgi::returner {
namespace {

EtcdOptions v3() {
  EtcdOptions options;
  options.require_v2 = false;
  return options;
}

/// Checks that `encoded` puts `header` before `text`, and that `decoded` removes `header`.
void check_coded(std::string_view text, std::string_view header) {
  CAPTURE(text.size());
  const std::string stored = EtcdLayout(v3()).encoded(text);
  CHECK(stored == std::string(header) + std::string(text));
  CHECK(decoded(stored) == text);
}

TEST_CASE("repeated slashes of the root stay in API v3, and become one in API v2") {
  EtcdOptions options = v3();
  options.root = "/r/";
  CHECK(EtcdLayout(options).minions() == "/r//minions/");
  options.require_v2 = true;
  CHECK(EtcdLayout(options).minions() == "/r/minions/");
  options.root = "r//s//";
  CHECK(EtcdLayout(options).minions() == "/r/s/minions/");
  options.root = "/";
  CHECK(EtcdLayout(options).minions() == "/minions/");
}

TEST_CASE("a value is a msgpack string with the shortest header") {
  check_coded("", "\xa0");
  check_coded("true", "\xa4");
  check_coded("20261120231500123456", "\xb4");
  check_coded(std::string(31, 'x'), "\xbf");
  check_coded(std::string(32, 'x'), "\xd9\x20");
  check_coded(std::string(255, 'x'), "\xd9\xff");
  check_coded(std::string(256, 'x'), std::string_view("\xda\x01\x00", 3));
  check_coded(std::string(65535, 'x'), "\xda\xff\xff");
  check_coded(std::string(65536, 'x'), std::string_view("\xdb\x00\x01\x00\x00", 5));
}

TEST_CASE("a value is plain text in API v2 and without encode_values") {
  EtcdOptions options = v3();
  options.encode_values = false;
  CHECK(EtcdLayout(options).encoded("true") == "true");
  options.encode_values = true;
  options.require_v2 = true;
  CHECK(EtcdLayout(options).encoded("true") == "true");
}

TEST_CASE("msgpack strings, msgpack bytes and plain text are read") {
  CHECK(decoded("") == "");
  CHECK(decoded("true") == "true");
  CHECK(decoded("20261120231500123456") == "20261120231500123456");
  CHECK(decoded("\xc4\x04true") == "true");
  CHECK(decoded(std::string_view("\xc5\x00\x04true", 7)) == "true");
  CHECK(decoded(std::string_view("\xc6\x00\x00\x00\x04true", 9)) == "true");
  // If the length of a value differs from the length in its header, the value is plain text.
  CHECK(decoded("\xa5true") == "\xa5true");
  CHECK(decoded("\xd9") == "\xd9");
  CHECK(decoded("\xdb\x01") == "\xdb\x01");
}

TEST_CASE("field_in recognizes the fields of a return") {
  REQUIRE(field_in("m1/return"));
  CHECK(field_in("m1/return")->minion == "m1");
  CHECK(field_in("m1/return")->name == "return");
  for (const char* other : {".load.p", "m1/", "/return", "m1/a/b", "", "../x"}) {
    CHECK_FALSE(field_in(other).has_value());
  }
}

TEST_CASE("is_key_part refuses a text that cannot be one part of a key") {
  CHECK(is_key_part("web1.example.com"));
  CHECK(is_key_part("münchen"));
  for (const char* text : {"", ".", "..", "a/b", "a\nb", "a\x7f"}) CHECK_FALSE(is_key_part(text));
  CHECK_FALSE(is_key_part(std::string(257, 'x')));
  CHECK(is_like_jid("20261120231500123456"));
  CHECK(is_like_jid("20261120231500123456_4711"));
  CHECK_FALSE(is_like_jid("2026112023150012345"));
  CHECK_FALSE(is_like_jid("req"));
  CHECK_FALSE(is_like_jid("20261120231500123456/.."));
}

}  // namespace
}  // namespace rest_fcgi::returner

// SPDX-License-Identifier: MIT
#include "auth/acl_pattern.h"

#include <doctest/doctest.h>

namespace rest_fcgi::auth {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  const auto compiled = AclPattern::make(pattern);
  REQUIRE(compiled);
  return compiled->matches(text);
}

}  // namespace

TEST_CASE("a pattern without special characters is an exact name") {
  CHECK(matches("test.ping", "test.ping"));
  CHECK_FALSE(matches("test.ping", "testXping"));
  CHECK_FALSE(matches("test.ping", "test.ping_all"));
  CHECK_FALSE(matches("test.ping", "my_test.ping"));
  CHECK_FALSE(matches("test.ping", "test.ping\n"));
  CHECK_FALSE(matches("", "test.ping"));
}

TEST_CASE("a pattern is a glob over the whole name") {
  CHECK(matches("test.*", "test.ping"));
  CHECK(matches("t?st.ping", "test.ping"));
  CHECK(matches("test.[pe]*", "test.echo"));
  CHECK(matches("*.ping", "test.ping"));
  CHECK_FALSE(matches("*.ping", "test.pingpong"));
}

TEST_CASE("a pattern is a regular expression over the whole name") {
  CHECK(matches("test\\.(ping|echo)", "test.echo"));
  CHECK_FALSE(matches("test\\.(ping|echo)", "test.echoes"));
  CHECK_FALSE(matches("test\\.(ping|echo)", "a test.echo"));
  CHECK(matches("^test\\.ping$", "test.ping"));
  CHECK_FALSE(matches("^test\\.ping$", "test.ping\n"));
  CHECK(matches("test.p.+", "test.ping"));
  CHECK(matches("t[a-z]+\\.ping", "test.ping"));
}

TEST_CASE("a text that is its own pattern matches, whatever it means as a pattern") {
  CHECK(matches("a+b", "a+b"));
  CHECK(matches("[x]", "[x]"));
}

TEST_CASE(".* and * match anything") {
  for (const char* anything : {".*", "*"}) {
    CHECK(matches(anything, "test.ping"));
    CHECK(matches(anything, ""));
    CHECK(matches(anything, "two\nlines"));
  }
}

TEST_CASE("special characters that make up no pattern are named as a mistake") {
  for (const std::string_view wrong : {"test.(ping", "test.ping)", "[abc", "(?<x", "test.(*", "\\"}) {
    CAPTURE(wrong);
    const auto compiled = AclPattern::make(wrong);
    REQUIRE_FALSE(compiled);
    CHECK(compiled.error().kind == ErrorKind::configuration);
    CHECK(compiled.error().message.starts_with(
        "\"" + std::string(wrong) + "\" is neither an exact name, nor a glob, nor a regular expression: "));
  }
}

}  // namespace rest_fcgi::auth

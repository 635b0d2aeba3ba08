// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "auth/acl.h"

namespace rest_fcgi::auth {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  CAPTURE(pattern);
  const auto compiled = AclPattern::make(pattern);
  REQUIRE(compiled);
  return compiled->matches(text);
}

TEST_CASE("a pattern without special characters is an exact name") {
  CHECK(matches("test.ping", "test.ping"));
  CHECK_FALSE(matches("test.ping", "testXping"));
  CHECK_FALSE(matches("test.ping", "test.ping_all"));
  CHECK_FALSE(matches("test.ping", "my_test.ping"));
  CHECK_FALSE(matches("test.ping", "test.ping\n"));
  CHECK_FALSE(matches("", "test.ping"));
}

TEST_CASE("a pattern is a regular expression over the whole name") {
  CHECK(matches("test.*", "test.ping"));
  CHECK(matches("test\\.(ping|echo)", "test.echo"));
  CHECK_FALSE(matches("test\\.(ping|echo)", "test.echoes"));
  CHECK_FALSE(matches("test\\.(ping|echo)", "a test.echo"));
  CHECK(matches("^test\\.ping$", "test.ping"));
  CHECK_FALSE(matches("^test\\.ping$", "test.ping\n"));
  CHECK(matches("test.p.+", "test.ping"));
  CHECK(matches("t[a-z]+\\.ping", "test.ping"));
  CHECK(matches("(?!cmd\\.).*", "test.ping"));
  CHECK_FALSE(matches("(?!cmd\\.).*", "cmd.run"));
  CHECK(matches("\\Atest\\.\\w{2,4}?\\Z", "test.ping"));
}

TEST_CASE(".* matches any text, also with line feeds") {
  CHECK(matches(".*", "test.ping"));
  CHECK(matches(".*", ""));
  CHECK(matches(".*", "two\nlines"));
}

TEST_CASE("a pattern is not a glob, and a regular expression does not match its own text") {
  CHECK_FALSE(matches("t?st.ping", "test.ping"));
  CHECK_FALSE(matches("te*t.ping", "test.ping"));
  CHECK_FALSE(matches("a+b", "a+b"));
  CHECK_FALSE(matches("[x]", "[x]"));
  CHECK(matches("a\\+b", "a+b"));
}

TEST_CASE("classes of characters are those of Python") {
  CHECK(matches("\\w+\\d", "tést_٣"));
  CHECK_FALSE(matches("\\W", "é"));
  CHECK_FALSE(matches("[^\\w]", "é"));
  CHECK_FALSE(matches("\\D", "٣"));
  CHECK(matches("\\s[\\s]", "\x1c\xc2\xa0"));
  CHECK_FALSE(matches("\\S", "\x1f"));
  CHECK_FALSE(matches("\\w", "\xcc\x81"));
  CHECK(matches("[]a-]+", "]-a"));
  CHECK(matches("[^]a]", "b"));
  CHECK(matches("[\\]\\[\\-é]{4}", "][-é"));
}

TEST_CASE("a pattern that Python refuses, or may read otherwise than PCRE2, is a configuration error") {
  for (const std::string_view pattern :
       {"*",           "*.ping", "+",      "?x",     "a|*",   "(*)",     "a**",      "a+*",
        "^*",          "$+",     "(?!a)*", "(*LF)a", "a*+",   "(?<x",    "(?P<n>a)", "(?i)a",
        "(?<=a)b",     "(?>a)",  "(?#c)",  "(?R)",   "(?",    "\\h",     "\\z",      "\\Q*\\E",
        "\\1",         "\\x41",  "\\bx",   "[\\W]",  "[\\b]", "[a-\\d]", "\\p{L}",   "\\é",
        "\\",          "a{,3}",  "a{",     "a{x}",   "a{1",   "a{1,",    "a{-1}",    "a{1,2,3}",
        "[[:alpha:]]", "[abc",   "[",      "[]",     "[^]",   "[a-",     "[\\w-z]",  "test.(ping",
        "test.ping)",  "[z-a]",  "a{3,2}", "a\xff*"}) {
    CAPTURE(pattern);
    const auto compiled = AclPattern::make(pattern);
    REQUIRE_FALSE(compiled);
    CHECK(compiled.error().kind == ErrorKind::configuration);
    CHECK(compiled.error().message.find("neither an exact name nor a regular expression") !=
          std::string::npos);
  }
}

}  // namespace
}  // namespace rest_fcgi::auth

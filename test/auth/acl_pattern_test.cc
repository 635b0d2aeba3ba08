// SPDX-License-Identifier: MIT
#include "auth/acl_pattern.h"

#include <string>

#include <doctest/doctest.h>

namespace rest_fcgi::auth {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  CAPTURE(pattern);
  const auto compiled = AclPattern::make(pattern);
  REQUIRE(compiled);
  return compiled->matches(text);
}

/// What is wrong with it, without the words that all mistakes begin with.
std::string mistake(std::string_view pattern) {
  CAPTURE(pattern);
  const auto compiled = AclPattern::make(pattern);
  REQUIRE_FALSE(compiled);
  CHECK(compiled.error().kind == ErrorKind::configuration);
  const std::string start = "\"" + std::string(pattern) +
                            "\" is neither an exact name nor a regular expression that is read here: ";
  REQUIRE(compiled.error().message.starts_with(start));
  return compiled.error().message.substr(start.size());
}

TEST_CASE("what is wrong with a long pattern is said with its beginning") {
  const std::string pattern = "(" + std::string(5000, 'a');
  const auto compiled = AclPattern::make(pattern);
  REQUIRE_FALSE(compiled);
  const std::string& message = compiled.error().message;
  CHECK(message.starts_with("\"" + pattern.substr(0, 256) + "...\" is neither an exact name"));
  CHECK(message.size() < 500);
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

TEST_CASE(".* matches anything") {
  CHECK(matches(".*", "test.ping"));
  CHECK(matches(".*", ""));
  CHECK(matches(".*", "two\nlines"));
}

TEST_CASE("it is no glob, and not the text itself where that has special characters") {
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
  CHECK_FALSE(matches("\\w", "\xcc\x81"));  // a combining accent
  CHECK(matches("[]a-]+", "]-a"));
  CHECK(matches("[^]a]", "b"));
  CHECK(matches("[\\]\\[\\-é]{4}", "][-é"));
}

TEST_CASE("what Python would not take, or might read otherwise, is named as a mistake") {
  for (const std::string_view glob :
       {"*", "*.ping", "+", "?x", "a|*", "(*)", "a**", "a+*", "^*", "$+", "(?!a)*", "(*LF)a"}) {
    CHECK(mistake(glob).starts_with("nothing to repeat (any text is .*) at offset "));
  }
  CHECK(mistake("a*+") == "nothing to repeat (any text is .*) at offset 2");
  for (const std::string_view group :
       {"(?<x", "(?P<n>a)", "(?i)a", "(?<=a)b", "(?>a)", "(?#c)", "(?R)", "(?"}) {
    CHECK(mistake(group) == "groups are (, (?:, (?= and (?! alone at offset 0");
  }
  for (const std::string_view escape :
       {"\\h", "\\z", "\\Q*\\E", "\\1", "\\x41", "\\bx", "[\\W]", "[\\b]", "[a-\\d]", "\\p{L}", "\\é"}) {
    CHECK(mistake(escape).starts_with("this escape is not read here at offset "));
  }
  for (const std::string_view brace : {"a{,3}", "a{", "a{x}", "a{1", "a{1,", "a{-1}", "a{1,2,3}"}) {
    CHECK(mistake(brace) == "'{' has to begin {m}, {m,} or {m,n}, or to be written \\{ at offset 1");
  }
  CHECK(mistake("\\") == "nothing follows the backslash at offset 0");
  CHECK(mistake("[[:alpha:]]") == "in a class, '[' has to be written \\[ at offset 1");
  for (const std::string_view open : {"[abc", "[", "[]", "[^]", "[a-"}) {
    CHECK(mistake(open).starts_with("a class that begins with '[' is not closed at offset "));
  }
  CHECK(mistake("[\\w-z]") == "a range has to begin with a character at offset 3");
  for (const std::string_view wrong : {"test.(ping", "test.ping)", "[z-a]", "a{3,2}", "a\xff*"}) {
    CHECK(mistake(wrong).starts_with("regular expression wrong at offset "));
  }
}

}  // namespace
}  // namespace rest_fcgi::auth

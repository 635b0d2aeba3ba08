// SPDX-License-Identifier: MIT
#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>

#include "auth/acl.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::auth {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  CAPTURE(pattern);
  const auto compiled = *AclPattern::make(pattern);
  return compiled.matches(text);
}

TEST_CASE("a pattern is an exact name, or a regular expression over the whole name, and no glob") {
  const std::pair<std::string_view, std::string_view> good[] = {{"test.ping", "test.ping"},
                                                                {"test.*", "test.ping"},
                                                                {"test\\.(ping|echo)", "test.echo"},
                                                                {"^test\\.ping$", "test.ping"},
                                                                {"test.p.+", "test.ping"},
                                                                {"t[a-z]+\\.ping", "test.ping"},
                                                                {"(?!cmd\\.).*", "test.ping"},
                                                                {"\\Atest\\.\\w{2,4}?\\Z", "test.ping"},
                                                                {"a\\+b", "a+b"},
                                                                {".*", "test.ping"},
                                                                {".*", ""},
                                                                {".*", "two\nlines"}};
  for (const auto& [pattern, text] : good) CHECK(matches(pattern, text));
  const std::pair<std::string_view, std::string_view> bad[] = {{"test.ping", "testXping"},
                                                               {"test.ping", "test.ping_all"},
                                                               {"test.ping", "my_test.ping"},
                                                               {"test.ping", "test.ping\n"},
                                                               {"", "test.ping"},
                                                               {"test\\.(ping|echo)", "test.echoes"},
                                                               {"test\\.(ping|echo)", "a test.echo"},
                                                               {"^test\\.ping$", "test.ping\n"},
                                                               {"(?!cmd\\.).*", "cmd.run"},
                                                               {"t?st.ping", "test.ping"},
                                                               {"te*t.ping", "test.ping"},
                                                               {"a+b", "a+b"},
                                                               {"[x]", "[x]"}};
  for (const auto& [pattern, text] : bad) CHECK_FALSE(matches(pattern, text));
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

TEST_CASE("a glob is refused with the regular expression of the same meaning") {
  for (const auto& [glob, regex] : {std::pair("*", "'.*'"),
                                    {"*.ping", R"('.*\.ping')"},
                                    {"*.p?ng*", R"('.*\.p.ng.*')"},
                                    {"[tT]*.*", ""}}) {
    const auto made = AclPattern::make(glob);
    if (!made) CHECK(made.error().message.ends_with(format("write {}", regex)));
    CHECK(made.ok() == std::string_view(regex).empty());
  }
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
    const Error error = AclPattern::make(pattern).error();
    CHECK(error.kind == ErrorKind::configuration);
    CHECK(error.message.find("neither an exact name nor a regular expression") != std::string::npos);
  }
}

}  // namespace
}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/pattern.h"

#include <string>

#include <doctest/doctest.h>

using rest_fcgi::Error;
using rest_fcgi::ErrorKind;
using rest_fcgi::glob_match;
using rest_fcgi::Regex;

TEST_CASE("globs match as Python's fnmatchcase") {
  struct Row {
    const char* pattern;
    const char* text;
    bool matches;
  };
  const Row rows[] = {
      {"*", "", true},
      {"*", "web/1", true},
      {"", "", true},
      {"", "a", false},
      {"ms-?", "ms-1", true},
      {"ms-?", "ms-10", false},
      {"ms-[0-1]", "ms-1", true},
      {"ms-[0-1]", "ms-2", false},
      {"[!a]b", "cb", true},
      {"[!a]b", "ab", false},
      {"[]]x", "]x", true},
      {"[a", "[a", true},
      {"[a", "a", false},
      {"a*b*c", "aXbYc", true},
      {"a*b*c", "aXbY", false},
      {"Web*", "web1", false},
      {"[a-]z", "-z", true},
      {"*.[!.]", "a.b", true},
      {"a\\*", "a\\x", true},
      {"**", "x", true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.pattern);
    CAPTURE(row.text);
    CHECK(glob_match(row.pattern, row.text) == row.matches);
  }
}

TEST_CASE("a glob with many stars is matched quickly, and a slow regular expression fails quickly") {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  CHECK_FALSE(glob_match(pattern + "b", std::string(5000, 'a')));
  const auto regex = *Regex::compile("(a+)+$");
  CHECK_FALSE(regex.match_all(std::string(60, 'a') + "b"));
  std::size_t steps = 0;
  CHECK(regex.match_start(std::string(60, 'a') + "b", steps) == Regex::Match::beyond);
  CHECK(steps > 100'000);
  steps = 0;
  CHECK(Regex::compile("web[0-9]+")->match_start("web12.example", steps) == Regex::Match::yes);
  CHECK(Regex::compile("web[0-9]+")->match_start("db12.example", steps) == Regex::Match::no);
  CHECK(steps < 100);
}

TEST_CASE("a regular expression matches the start or the whole text, and a malformed one names the offset") {
  const auto regex = *Regex::compile("ms-[0-9]+");
  CHECK(regex.match_start("ms-12.example"));
  CHECK_FALSE(regex.match_all("ms-12.example"));
  CHECK(regex.match_all("ms-12"));
  CHECK_FALSE(regex.match_start("xms-12"));
  CHECK(Regex::compile("a|ab")->match_all("ab"));
  const Error error = Regex::compile("ms-(").error();
  CHECK(error.kind == ErrorKind::invocation);
  CHECK(error.message.ends_with("offset 4: missing closing parenthesis"));
  CHECK_FALSE(Regex::compile(std::string(5000, 'a')));
}

// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "master/embedded/python/python.h"

namespace rest_fcgi::embedded {
namespace {

using Words = std::vector<std::string>;

Words words(std::string_view text) {
  auto split = shlex_split(text);
  REQUIRE(std::holds_alternative<Words>(split));
  return std::get<Words>(split);
}

std::string complaint(std::string_view text) {
  auto split = shlex_split(text);
  REQUIRE(std::holds_alternative<Raised>(split));
  return std::get<Raised>(split).line();
}

TEST_CASE("words stand between blanks") {
  CHECK(words("").empty());
  CHECK(words(" \t\r\n ").empty());
  CHECK(words("a") == Words{"a"});
  CHECK(words("  ls  -l\t/tmp\n") == Words{"ls", "-l", "/tmp"});
  CHECK(words("a\vb") == Words{"a\vb"});
}

TEST_CASE("quotes keep blanks and are no part of the word") {
  CHECK(words(R"(echo 'a b' "c d")") == Words{"echo", "a b", "c d"});
  CHECK(words(R"(a'b 'c"d ")") == Words{"ab cd "});
  CHECK(words(R"('' "" x'')") == Words{"", "", "x"});
  CHECK(words(R"("it's" 'say "x"')") == Words{"it's", R"(say "x")"});
}

TEST_CASE("a backslash takes the next character as it is, but not between single quotes") {
  CHECK(words(R"(a\ b \' \\ \n)") == Words{"a b", "'", R"(\)", "n"});
  CHECK(words(R"('a\b')") == Words{R"(a\b)"});
  CHECK(words(R"("a\"b\\c\$d\n")") == Words{R"(a"b\c\$d\n)"});
  CHECK(words("a\\\nb") == Words{"a\nb"});
}

TEST_CASE("what a shell would act upon is text") {
  CHECK(words("a;b && c | d > e $HOME `x` $(y) * # z") ==
        Words{"a;b", "&&", "c", "|", "d", ">", "e", "$HOME", "`x`", "$(y)", "*", "#", "z"});
}

TEST_CASE("what does not end is complained of in Python's words") {
  CHECK(complaint("echo 'a") == "ValueError: No closing quotation");
  CHECK(complaint("echo \"a") == "ValueError: No closing quotation");
  CHECK(complaint("echo \\") == "ValueError: No escaped character");
  CHECK(complaint("echo \"a\\") == "ValueError: No escaped character");
}

}  // namespace
}  // namespace rest_fcgi::embedded

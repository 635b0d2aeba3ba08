// SPDX-License-Identifier: MIT
#include "master/embedded/python/python.h"

#include <doctest/doctest.h>

namespace rest_fcgi::embedded {
namespace {

using Words = std::vector<std::string>;

Words words(std::string_view text) {
  auto found = shlex_split(text);
  REQUIRE(std::holds_alternative<Words>(found));
  return std::get<Words>(found);
}

std::string error(std::string_view text) {
  auto found = shlex_split(text);
  REQUIRE(std::holds_alternative<Raised>(found));
  return std::get<Raised>(found).line();
}

TEST_CASE("shlex_split splits at white space outside quotes, which need an end") {
  CHECK(words("").empty());
  CHECK(words(" \t\r\n ").empty());
  CHECK(words("a") == Words{"a"});
  CHECK(words("  ls  -l\t/tmp\n") == Words{"ls", "-l", "/tmp"});
  CHECK(words("a\vb") == Words{"a\vb"});
  CHECK(words(R"(echo 'a b' "c d")") == Words{"echo", "a b", "c d"});
  CHECK(words(R"(a'b 'c"d ")") == Words{"ab cd "});
  CHECK(words(R"('' "" x'')") == Words{"", "", "x"});
  CHECK(words(R"("it's" 'say "x"')") == Words{"it's", R"(say "x")"});
  CHECK(error("echo 'a") == "ValueError: No closing quotation");
  CHECK(error("echo \"a") == "ValueError: No closing quotation");
  CHECK(error("echo \\") == "ValueError: No escaped character");
  CHECK(error("echo \"a\\") == "ValueError: No escaped character");
}

TEST_CASE("shlex_split takes a character after a backslash, and a shell's special characters, as they are") {
  CHECK(words(R"(a\ b \' \\ \n)") == Words{"a b", "'", R"(\)", "n"});
  CHECK(words(R"('a\b')") == Words{R"(a\b)"});
  CHECK(words(R"("a\"b\\c\$d\n")") == Words{R"(a"b\c\$d\n)"});
  CHECK(words("a\\\nb") == Words{"a\nb"});
  CHECK(words("a;b && c | d > e $HOME `x` $(y) * # z") ==
        Words{"a;b", "&&", "c", "|", "d", ">", "e", "$HOME", "`x`", "$(y)", "*", "#", "z"});
}

}  // namespace
}  // namespace rest_fcgi::embedded

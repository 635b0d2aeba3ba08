// SPDX-License-Identifier: MIT
#include "master/embedded/python/python.h"

#include <doctest/doctest.h>

#include "rest_fcgi/lowstate/master_arguments.h"

namespace rest_fcgi::embedded {
namespace {

using Words = std::vector<std::string>;

Words words(std::string_view text) {
  auto found = shlex_split(text);
  REQUIRE(std::holds_alternative<Words>(found));
  return std::get<Words>(found);
}

std::string complaint(std::string_view text) {
  auto found = shlex_split(text);
  REQUIRE(std::holds_alternative<Raised>(found));
  return std::get<Raised>(found).line();
}

/// Arguments as functions get them and rules see them, as Python's str().
std::string sorted(std::string_view args, std::string_view kwargs) {
  JsonDocument given_args;
  JsonDocument given_kwargs;
  REQUIRE(given_args.parse(args));
  REQUIRE(given_kwargs.parse(kwargs));
  std::vector<JsonValue> positional;
  std::vector<JsonMember> keywords;
  for (const JsonValue arg : given_args.root().elements()) positional.push_back(arg);
  for (const JsonMember member : given_kwargs.root().members()) keywords.push_back(member);
  const lowstate::Arguments arguments = lowstate::sort_arguments(positional, keywords);
  std::string text;
  for (const JsonValue& arg : arguments.positional) text += arg.python_str() + " ";
  for (const auto& [key, value] : arguments.keywords) {
    text += std::string(key) + "=>" + value.python_str() + " ";
  }
  return text;
}

TEST_CASE("arguments stay as they are") {
  CHECK(sorted(R"(["a", 1, null])", R"({"k": [2]})") == "a 1 None k=>[2] ");
}

TEST_CASE("a text name=value is a keyword argument, and of those with the same name the last one counts") {
  CHECK(sorted(R"(["a=1", "EVIL"])", "{}") == "EVIL a=>1 ");
  CHECK(sorted(R"(["cmd=rm x", "b=1", "safe"])", R"({"cmd": "ls"})") == "safe cmd=>ls b=>1 ");
  CHECK(sorted(R"(["a==b", "1=2", "b=true"])", "{}") == "a==b 1=2 b=>True ");
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

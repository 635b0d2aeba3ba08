// SPDX-License-Identifier: MIT
#include "rest_fcgi/lowstate/master_arguments.h"

#include <string>

#include <doctest/doctest.h>

namespace rest_fcgi::lowstate {
namespace {

/// Copies the arguments out of the JSON document `[[positional], {keyword}]`. Then destroys the document,
/// which the copy must not need, and returns the copy as text.
std::string taken(std::string_view json, bool as_command_line) {
  std::shared_ptr<const MasterArguments> arguments;
  {
    JsonDocument document;
    REQUIRE(document.parse(json));
    Function function;
    auto part = document.root().elements().begin();
    for (const JsonValue value : (*part).elements()) function.args.push_back(value);
    for (const JsonMember member : (*++part).members()) function.kwargs.push_back(member);
    auto result = MasterArguments::copy_of(function, as_command_line);
    REQUIRE(result);
    arguments = *std::move(result);
  }
  return arguments->json().text();
}

std::string sorted(std::string_view args, std::string_view kwargs) {
  JsonDocument given_args;
  JsonDocument given_kwargs;
  REQUIRE(given_args.parse(args));
  REQUIRE(given_kwargs.parse(kwargs));
  std::vector<JsonValue> positional;
  std::vector<JsonMember> keywords;
  for (const JsonValue arg : given_args.root().elements()) positional.push_back(arg);
  for (const JsonMember member : given_kwargs.root().members()) keywords.push_back(member);
  const Arguments arguments = sort_arguments(positional, keywords);
  std::string text;
  for (const JsonValue& arg : arguments.positional) text += arg.python_str() + " ";
  for (const auto& [key, value] : arguments.keywords) {
    text += std::string(key) + "=>" + value.python_str() + " ";
  }
  return text;
}

}  // namespace

TEST_CASE("MasterArguments copies arguments with the keyword arguments last") {
  CHECK(taken(R"([["a", 1.0, {"b": null}], {}])", false) == R"(["a", 1.0, {"b": null}])");
  CHECK(taken(R"([[], {"a": "b=1", "c": [2]}])", false) == R"([{"a": "b=1", "c": [2]}])");
}

TEST_CASE("with as_command_line, texts are values or keyword arguments") {
  CHECK(taken(R"([["1", "a=2", "[x]", 3], {}])", true) == R"([1, ["x"], 3, {"a": 2}])");
  CHECK(taken(R"([["1", "a=2", "[x]", 3], {}])", false) == R"(["1", "a=2", "[x]", 3])");
}

TEST_CASE("a keyword argument wins over a text name=value") {
  CHECK(taken(R"([["a=1", "b=2"], {"a": "3"}])", true) == R"([{"b": 2, "a": "3"}])");
}

TEST_CASE("an integer of 20 digits is a job id, and becomes text") {
  CHECK(taken(R"([[20261120233651543848], {"jid": 20261120233651543848}])", false) ==
        R"(["20261120233651543848", {"jid": "20261120233651543848"}])");
  CHECK(taken("[[-1234567890123456789], {}]", false) == "[-1234567890123456789]");
  CHECK(taken(R"([["20261120233651543848", "jid=20261120233651543848"], {}])", true) ==
        R"(["20261120233651543848", {"jid": "20261120233651543848"}])");
}

TEST_CASE("sort_arguments keeps positional and keyword arguments as they are") {
  CHECK(sorted(R"(["a", 1, null])", R"({"k": [2]})") == "a 1 None k=>[2] ");
}

TEST_CASE("sort_arguments makes a keyword argument of a text name=value, and the last one of a name counts") {
  CHECK(sorted(R"(["a=1", "EVIL"])", "{}") == "EVIL a=>1 ");
  CHECK(sorted(R"(["cmd=rm x", "b=1", "safe"])", R"({"cmd": "ls"})") == "safe cmd=>ls b=>1 ");
  CHECK(sorted(R"(["a==b", "1=2", "b=true"])", "{}") == "a==b 1=2 b=>True ");
}

}  // namespace rest_fcgi::lowstate

// SPDX-License-Identifier: MIT
#include "master/embedded/rules.h"

#include <string>

#include <doctest/doctest.h>

using namespace rest_fcgi;
using embedded::RuleCall;

namespace {

/// What rules see of a call: its arguments, and its keyword arguments by name, as Python's str().
std::string seen(std::string_view args, std::string_view kwargs) {
  JsonDocument given_args;
  JsonDocument given_kwargs;
  REQUIRE(given_args.parse(args));
  REQUIRE(given_kwargs.parse(kwargs));
  lowstate::Function function{"test.arg", {}, {}};
  for (const JsonValue arg : given_args.root().elements()) function.args.push_back(arg);
  for (const JsonMember member : given_kwargs.root().members()) function.kwargs.push_back(member);
  const RuleCall rule_call(function);
  std::string text(rule_call.call().name);
  for (const JsonValue arg : rule_call.call().args) text += " " + arg.python_str();
  for (const JsonMember& member : rule_call.call().kwargs) {
    text += " " + std::string(member.key) + "=>" + member.value.python_str();
  }
  return text;
}

}  // namespace

TEST_CASE("rules see a call's arguments as they are") {
  CHECK(seen(R"(["a", 1, null])", R"({"k": [2]})") == "test.arg a 1 None k=>[2]");
}

TEST_CASE("rules see a text name=value as the keyword argument that it will be") {
  CHECK(seen(R"(["a=1", "EVIL"])", "{}") == "test.arg EVIL a=>1");
  CHECK(seen(R"(["cmd=rm x", "safe"])", R"({"cmd": "ls"})") == "test.arg safe cmd=>rm x cmd=>ls");
  CHECK(seen(R"(["a==b", "1=2", "b=true"])", "{}") == "test.arg a==b 1=2 b=>True");
}

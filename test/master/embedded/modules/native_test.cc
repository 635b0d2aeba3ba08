// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "../../../support/execution.h"

namespace rest_fcgi::embedded {
namespace {

constexpr std::string_view kPublication =
    R"("__pub_tgt": "*", "__pub_jid": "20260101000000000001", "__pub_ret": "", "__pub_tgt_type": "glob", )"
    R"("__pub_user": "saltdev")";

TEST_CASE("texts name=value are keyword arguments, their values read as YAML") {
  test::Execution minion;
  CHECK(
      minion.ret("test.arg_clean", R"(["a=1", "b=yes", "c=[1, x]", "d={a: 1}", "e=", "f==x", "g h=1"])") ==
      R"({"args": ["f==x", "g h=1"], "kwargs": {"a": 1, "b": true, "c": [1, "x"], "d": {"a": 1}, "e": ""}})");
  CHECK(minion.ret("test.echo", R"(["text=5"])") == "5");
}

TEST_CASE("the last of two keyword arguments of a name counts, in the place of the first") {
  test::Execution minion;
  CHECK(minion.ret("test.arg_clean", R"(["a=1", "b=2", "a=3"])", R"({"b": 4})") ==
        R"({"args": [], "kwargs": {"a": 3, "b": 4}})");
}

TEST_CASE("functions with **kwargs get their job") {
  test::Execution minion;
  CHECK(
      minion.ret("test.arg", R"(["a"])", R"({"b": {"c": [1]}})") ==
      R"({"args": ["a"], "kwargs": {"b": {"c": [1]}, "__pub_fun": "test.arg", "__pub_arg": ["a", {"b": {"c": [1]}}], )" +
          std::string(kPublication) + "}}");
}

TEST_CASE("a caller cannot forge __pub_user") {
  test::Execution minion;
  CHECK(
      minion.ret("test.kwarg", "[]", R"({"__pub_user": "root"})") ==
      R"({"__pub_user": "saltdev", "__pub_fun": "test.kwarg", "__pub_arg": [{"__pub_user": "root"}], "__pub_tgt": "*", )"
      R"("__pub_jid": "20260101000000000001", "__pub_ret": "", "__pub_tgt_type": "glob"})");
}

TEST_CASE("keyword arguments that a function does not take are refused by name") {
  test::Execution minion;
  const std::string start = "ERROR executing 'test.ping': The following keyword arguments are not valid: ";
  CHECK(minion.sentence("test.ping", R"(["x", "a=yes"])",
                        R"({"b": null, "c": {"d": [1, "t", true]}, "e": 1.50})") ==
        start + "a=True, b=None, c={'d': [1, 't', True]}, e=1.5");
}

TEST_CASE("too many positional arguments are refused with Python's text") {
  test::Execution minion;
  const std::string start = "Passed invalid arguments to ";
  CHECK(minion.sentence("test.ping", "[1]") ==
        start + "test.ping: ping() takes 0 positional arguments but 1 was given");
  CHECK(minion.sentence("test.echo", "[1, 2]") ==
        start + "test.echo: echo() takes 1 positional argument but 2 were given");
  CHECK(minion.sentence("grains.get", "[1, 2, 3, 4, 5]") ==
        start + "grains.get: get() takes from 1 to 4 positional arguments but 5 were given");
}

TEST_CASE("missing and repeated arguments are refused with Python's text") {
  test::Execution minion;
  CHECK(minion.sentence("test.echo") ==
        "Passed invalid arguments to test.echo: echo() missing 1 required positional argument: 'text'");
  CHECK(minion.sentence("grains.equals") ==
        "Passed invalid arguments to grains.equals: equals() missing 2 required positional arguments: 'key' "
        "and 'value'");
  CHECK(minion.sentence("test.echo", "[1, 2]", R"({"text": 2})") ==
        "Passed invalid arguments to test.echo: echo() got multiple values for argument 'text'");
}

TEST_CASE("an error about arguments is followed by the function's documentation") {
  test::Execution minion;
  CHECK(
      minion.ret("test.true", "[1]") ==
      R"("Passed invalid arguments to test.true: true_() takes 0 positional arguments but 1 was given\n\n    Return )"
      R"(``True``.\n\n    CLI Example:\n\n        salt '*' test.true\n    ")");
}

}  // namespace
}  // namespace rest_fcgi::embedded

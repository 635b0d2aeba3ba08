// SPDX-License-Identifier: MIT
#include <chrono>
#include <stop_token>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "../../../support/execution.h"
#include "rest_fcgi/core/version.h"

namespace rest_fcgi::embedded {
namespace {

const std::string kException = "The minion function caused an exception: ";
const std::string kInvalid = "Passed invalid arguments to ";

/// What comes before the seconds in `[value, seconds]`.
std::string timed_value(const std::string& ret) {
  return ret.substr(0, ret.rfind(", "));
}

TEST_CASE("functions that return what they are given or always the same") {
  test::Execution minion;
  CHECK(minion.ret("test.ping") == "true");
  CHECK(minion.ret("test.true") == "true");
  CHECK(minion.ret("test.false") == "false");
  CHECK(minion.ret("test.echo", R"([{"a": [1, 2.50, "x"]}])") == R"({"a": [1, 2.5, "x"]})");
  CHECK(minion.ret("test.outputter", "[null]") == "null");
}

TEST_CASE("test.arg_type names Python's types") {
  test::Execution minion;
  const std::string ret = minion.ret("test.arg_type", R"(["a", 1, 2.5, null, true, [1], {}])", R"({"z": 1})");
  CHECK(ret.starts_with(
      R"({"args": ["<class 'str'>", "<class 'int'>", "<class 'float'>", "<class 'NoneType'>", )"
      R"("<class 'bool'>", "<class 'list'>", "<class 'dict'>"], "kwargs": {"z": "<class 'int'>", )"
      R"("__pub_fun": "<class 'str'>", "__pub_arg": "<class 'list'>")"));
}

TEST_CASE("test.arg_repr writes arguments as Python does") {
  test::Execution minion;
  const std::string some =
      minion.ret("test.arg_repr", R"(["a", 1.50, null, [true], "it's"])", R"({"it's": {"y": 1}})");
  CHECK(
      some.starts_with(R"x({"args": "('a', 1.5, None, [True], \"it's\")", "kwargs": "{\"it's\": {'y': 1}, )x"
                       R"x('__pub_fun': 'test.arg_repr', '__pub_arg': )x"));
  CHECK(minion.ret("test.arg_repr", R"(["a"])")
            .starts_with(R"x({"args": "('a',)", "kwargs": "{'__pub_fun': )x"));
  CHECK(minion.ret("test.arg_repr").starts_with(R"x({"args": "()", )x"));
}

TEST_CASE("test.kwarg returns keyword arguments only") {
  test::Execution minion;
  CHECK(minion.ret("test.kwarg", R"(["a=1"])", R"({"z": "y"})")
            .starts_with(R"({"a": 1, "z": "y", "__pub_fun": "test.kwarg", )"));
  CHECK(minion.sentence("test.kwarg", R"(["a"])") ==
        kInvalid + "test.kwarg: kwarg() takes 0 positional arguments but 1 was given");
}

TEST_CASE("test.retcode takes what Python takes for an integer, within the range of a return code") {
  test::Execution minion;
  CHECK(minion.run("test.retcode", R"(["7"])").retcode == 7);
  CHECK(minion.run("test.retcode", "[7.9]").retcode == 7);
  CHECK(minion.run("test.retcode", "[true]").retcode == 1);
  CHECK(minion.run("test.retcode", "[99999999999]").retcode == 2147483647);
  CHECK(minion.sentence("test.retcode", R"(["x"])") ==
        kException + "ValueError: invalid literal for int() with base 10: 'x'");
}

TEST_CASE("test.fib returns the number with all its digits and the seconds it took") {
  test::Execution minion;
  CHECK(timed_value(minion.ret("test.fib", "[30]")) == "[832040");
  CHECK(timed_value(minion.ret("test.fib", R"([" 1_0 "])")) == "[55");
  CHECK(timed_value(minion.ret("test.fib", "[0]")) == "[0");
  CHECK(timed_value(minion.ret("test.fib", "[1]")) == "[1");
  CHECK(timed_value(minion.ret("test.fib", "[4.9]")) == "[3");
  CHECK(timed_value(minion.ret("test.fib", "[100]")) == "[354224848179261915075");
  CHECK(timed_value(minion.ret("test.fib", "[20577]")).size() == 4301);
}

TEST_CASE("test.fib refuses what is no number, below 0, or too large to return") {
  test::Execution minion;
  CHECK(minion.sentence("test.fib", "[-1]") == kException + "ValueError: Negative number is not allowed!");
  CHECK(minion.sentence("test.fib", R"(["1.5"])") ==
        kException + "ValueError: invalid literal for int() with base 10: '1.5'");
  CHECK(
      minion.sentence("test.fib", "[null]") ==
      kInvalid +
          "test.fib: int() argument must be a string, a bytes-like object or a real number, not 'NoneType'");
  const std::string too_large =
      kException + "ValueError: Exceeds the limit (4300 digits) for integer string conversion";
  CHECK(minion.sentence("test.fib", "[20578]") == too_large);
  CHECK(minion.sentence("test.fib", "[99999999999999999999]") == too_large);
}

TEST_CASE("test.collatz returns the sequence, as floats from the first halving on") {
  test::Execution minion;
  CHECK(timed_value(minion.ret("test.collatz", "[3]")) == "[[3, 10, 5.0, 16.0, 8.0, 4.0, 2.0]");
  CHECK(timed_value(minion.ret("test.collatz", R"(["8"])")) == "[[8, 4.0, 2.0]");
  CHECK(timed_value(minion.ret("test.collatz", "[1]")) == "[[]");
}

TEST_CASE("test.collatz refuses starts whose sequence has no end, or that are too large") {
  test::Execution minion;
  const std::string start = kException + "ValueError: start must be from 1 to 3074457345618258602, not ";
  CHECK(minion.sentence("test.collatz", "[0]") == start + "0");
  CHECK(minion.sentence("test.collatz", "[3074457345618258603]") == start + "3074457345618258603");
  CHECK(minion.sentence("test.collatz", R"(["x"])") ==
        kException + "ValueError: invalid literal for int() with base 10: 'x'");
}

TEST_CASE("test.sleep returns true after the time") {
  test::Execution minion;
  CHECK(minion.ret("test.sleep", "[0]") == "true");
  const auto begin = std::chrono::steady_clock::now();
  CHECK(minion.ret("test.sleep", R"(["1"])") == "true");
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::seconds(1));
  CHECK(minion.ret("test.rand_sleep", "[0]") == "true");
}

TEST_CASE("test.sleep refuses times that Python refuses") {
  test::Execution minion;
  CHECK(minion.sentence("test.sleep", "[-1]") ==
        kException + "ValueError: sleep length must be non-negative");
  CHECK(minion.sentence("test.sleep", "[9223372037]") ==
        kException + "OverflowError: timestamp too large to convert to C _PyTime_t");
  CHECK(minion.sentence("test.sleep", R"(["abc"])") ==
        kException + "ValueError: invalid literal for int() with base 10: 'abc'");
  CHECK(minion.sentence("test.rand_sleep", "[-1]") ==
        kException + "ValueError: empty range for randrange() (0, 0, 0)");
}

TEST_CASE("a sleep ends when the engine shuts down, and says so") {
  test::Execution minion;
  std::stop_source source;
  std::jthread stopper([&source] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    source.request_stop();
  });
  const Outcome outcome = minion.run("test.sleep", "[9223372036]", "{}", source.get_token());
  CHECK(outcome.ret.text() == R"("Job terminated: it was asked to stop before it ended.")");
  CHECK(outcome.retcode == 1);
  CHECK_FALSE(outcome.success);
}

TEST_CASE("test.random_hash gives as many digits as the hash has, and others each time") {
  test::Execution minion;
  CHECK(minion.ret("test.random_hash").size() == 64 + 2);
  CHECK(minion.ret("test.random_hash") != minion.ret("test.random_hash"));
  CHECK(minion.ret("test.random_hash", "[]", R"({"hash_type": "sha512"})").size() == 128 + 2);
  CHECK(minion.ret("test.rand_str", R"([10, "md5"])").size() == 32 + 2);
  CHECK(minion.ret("test.random_hash", R"(["hash_type=sha1"])").find_first_not_of("\"0123456789abcdef") ==
        std::string::npos);
}

TEST_CASE("test.random_hash refuses unknown hashes and sizes that are none") {
  test::Execution minion;
  const std::string start = kInvalid + "test.random_hash: ";
  CHECK(minion.sentence("test.random_hash", R"(["hash_type=nosuch"])") ==
        kException + "AttributeError: module 'hashlib' has no attribute 'nosuch'");
  CHECK(minion.sentence("test.random_hash", "[9, 5]") == start + "attribute name must be string, not 'int'");
  CHECK(minion.sentence("test.random_hash", "[-5]") ==
        kException + "ValueError: empty range for randrange() (0, -4, -4)");
  CHECK(minion.sentence("test.random_hash", "[1.5]") ==
        kException + "ValueError: non-integer stop for randrange()");
  CHECK(minion.sentence("test.random_hash", R"(["9"])") ==
        start + "can only concatenate str (not \"int\") to str");
  CHECK(minion.sentence("test.random_hash", "[null]") ==
        start + "unsupported operand type(s) for +: 'NoneType' and 'int'");
}

TEST_CASE("test.exception raises its message") {
  test::Execution minion;
  CHECK(minion.sentence("test.exception") == kException + "Exception: Test Exception");
  CHECK(minion.sentence("test.exception", R"(["Oh noes!"])") == kException + "Exception: Oh noes!");
  CHECK(minion.sentence("test.exception", "[null]") == kException + "Exception: None");
  CHECK(minion.sentence("test.exception", R"([""])") == kException + "Exception");
}

TEST_CASE("test.raise_exception shows an exception's arguments as Python does") {
  test::Execution minion;
  CHECK(minion.sentence("test.raise_exception", R"(["ValueError"])") == kException + "ValueError");
  CHECK(minion.sentence("test.raise_exception", R"(["ValueError", "a", 1])") ==
        kException + "ValueError: ('a', 1)");
  CHECK(minion.sentence("test.raise_exception", R"(["KeyError", "a"])") == kException + "KeyError: 'a'");
  CHECK(minion.sentence("test.raise_exception", R"(["ValueError", "a=1"])") ==
        kInvalid + "test.raise_exception: ValueError() takes no keyword arguments");
}

TEST_CASE("test.raise_exception returns false for what is no exception") {
  test::Execution minion;
  CHECK(minion.ret("test.raise_exception", R"(["print", "a"])") == "false");
  CHECK(minion.ret("test.raise_exception", R"(["salt.exceptions.nosuch"])") == "false");
  CHECK(minion.ret("test.raise_exception", "[5]") == "false");
}

TEST_CASE("test.assertion raises unless its argument is true for Python") {
  test::Execution minion;
  for (const std::string_view value : {"[1]", "[\"false\"]", "[[0]]", "[0.5]", "[true]"}) {
    CHECK(minion.ret("test.assertion", value) == "null");
  }
  for (const std::string_view value : {"[0]", "[\"\"]", "[[]]", "[{}]", "[0.0]", "[null]", "[false]"}) {
    CHECK(minion.sentence("test.assertion", value) == kException + "AssertionError");
  }
}

// With them, whoever may run `test.*` could run everything.
TEST_CASE("no function calls another one by name") {
  const test::Execution minion;
  for (const std::string_view name : {"test.cross_test", "test.try", "test.try_"})
    CHECK(minion.modules().find(name) == nullptr);
}

TEST_CASE("test.attr_call returns all grains") {
  test::Execution minion(R"({"os": "Debian"})");
  CHECK(minion.ret("test.attr_call") == R"({"os": "Debian"})");
}

TEST_CASE("the reports about modules agree with each other") {
  test::Execution minion;
  CHECK(minion.ret("test.not_loaded") == "[]");
  const std::string providers = minion.ret("test.providers");
  CHECK(providers.find(R"("grains": "grains", )") != std::string::npos);
  CHECK(providers.find(R"(, "sysmod": "sys", "test": "test"})") != std::string::npos);
  CHECK(minion.ret("test.provider", R"(["sys"])") == R"("sysmod")");
  CHECK(minion.ret("test.provider", R"(["nosuch"])") == R"("")");
  CHECK(minion.ret("test.provider", "[5]") == R"("")");
  const std::string functions = minion.ret("sys.list_functions");
  const std::string modules = minion.ret("sys.list_modules");
  CHECK(minion.ret("test.module_report") == R"({"functions": )" + functions + R"(, "function_attrs": )" +
                                                functions + R"(, "function_subs": )" + functions +
                                                R"(, "modules": )" + modules + R"(, "module_attrs": )" +
                                                modules + R"(, "missing_attrs": [], "missing_subs": []})");
}

TEST_CASE("versions are the project's own") {
  test::Execution minion;
  CHECK(minion.ret("test.version") == Json::string(kVersion).text());
  const std::string start = R"({"rest_fcgi Version": {"rest_fcgi": ")" + std::string(kVersion);
  CHECK(minion.ret("test.versions_information").starts_with(start));
  CHECK(minion.ret("test.versions_report")
            .starts_with(R"("rest_fcgi Version:\n     rest_fcgi: )" + std::string(kVersion)));
  CHECK(minion.ret("test.versions") == minion.ret("test.versions_report"));
}

}  // namespace
}  // namespace rest_fcgi::embedded

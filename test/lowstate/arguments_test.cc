// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "read.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/lowstate/lowstate.h"

using rest_fcgi::format;
using rest_fcgi::test::as_json;
using rest_fcgi::test::local_with;
using rest_fcgi::test::Read;
using rest_fcgi::test::refusal;
using namespace rest_fcgi::lowstate;

namespace {

std::string args(const std::string& keys) {
  return as_json(Read(local_with(keys)).local().functions.at(0).args);
}
std::string kwargs(const std::string& keys) {
  return as_json(Read(local_with(keys)).local().functions.at(0).kwargs);
}

std::string compound(const std::string& keys) {
  return R"({"client": "local", "tgt": "*", )" + keys + "}";
}

std::string runner(const std::string& keys) {
  return R"({"client": "runner", "fun": "test.arg", )" + keys + "}";
}

}  // namespace

TEST_CASE("arg is a list or a single argument, and may be absent or empty") {
  CHECK(args(R"("arg": ["a", 1, 2.5, null])") == R"(["a", 1, 2.5, null])");
  CHECK(args(R"("arg": "abc")") == R"(["abc"])");
  CHECK(args(R"("arg": 5)") == "[5]");
  CHECK(args(R"("arg": {"a": 1})") == R"([{"a": 1}])");
  CHECK(args(R"("x": 1)") == "[]");
  CHECK(args(R"("arg": [])") == "[]");
}

TEST_CASE("kwarg must be an object") {
  CHECK(kwargs(R"("kwarg": {"b": {"c": [1]}})") == R"({"b": {"c": [1]}})");
  CHECK(refusal(local_with(R"("kwarg": ["a"])")) ==
        "Lowstate chunk 0: 'kwarg' must be an object; found list.");
}

TEST_CASE("an argument with __kwarg__ has keyword arguments, and kwarg wins") {
  const std::string both =
      R"("arg": [1, {"a": 1, "b": 2, "__kwarg__": true}], "kwarg": {"b": 3, "__kwarg__": true})";
  CHECK(args(both) == "[1]");
  CHECK(kwargs(both) == R"({"a": 1, "b": 3})");
  CHECK(args(R"("arg": [{"a": 1, "__kwarg__": false}])") == R"([{"a": 1, "__kwarg__": false}])");
}

TEST_CASE("keys and keyword arguments reserved for Salt are refused") {
  CHECK(refusal(local_with(R"("kwarg": {"__pub_user": "root"})")) ==
        "Lowstate chunk 0: the keyword argument '__pub_user' is refused; names that begin with '__pub_' are "
        "reserved for Salt.");
  CHECK(refusal(local_with(R"("arg": [{"__kwarg__": true, "__pub_jid": "1"}])")) != "not refused");
  const std::string sentence =
      "Lowstate chunk 0: the key '__user__' is refused; keys that begin with '__' are reserved for Salt.";
  CHECK(refusal(runner(R"("__user__": "root")")) == sentence);
  CHECK(refusal(runner(R"("kwarg": {"__user__": "root"})")) == sentence);
  CHECK(refusal(runner(R"("arg": [{"__kwarg__": true, "__user__": "root"}])")) == sentence);
}

TEST_CASE("a function's name is a string of 1 to 255 bytes") {
  CHECK(refusal(compound(R"("arg": [])")) ==
        "Lowstate chunk 0: 'fun' is missing; a local chunk needs 'client', 'tgt' and 'fun'.");
  CHECK(refusal(compound(R"("fun": 5)")) ==
        "Lowstate chunk 0: 'fun' must be the name of a function; found int.");
  CHECK(refusal(R"({"client": "runner", "fun": ["a.b"]})") ==
        "Lowstate chunk 0: 'fun' must be the name of a function; found list.");
  CHECK(refusal(compound(R"("fun": "")")) ==
        "Lowstate chunk 0: 'fun' is empty; it must be the name of a function.");
  CHECK(refusal(compound(R"("fun": ")" + std::string(256, 'f') + "\"")) ==
        "Lowstate chunk 0: 'fun' has 256 bytes; the name of a function has at most 255.");
  CHECK(refusal(R"([{"client": "wheel"}])") ==
        "Lowstate chunk 0: 'fun' is missing; a wheel chunk needs 'client' and 'fun'.");
}

TEST_CASE("each function of a compound call has its own arguments") {
  const Read read(
      compound(R"("fun": ["test.ping", "test.arg"], "arg": [[], ["hi", {"__kwarg__": true, "a": 1}]])"));
  const LocalCall& call = read.local();
  CHECK(call.compound);
  REQUIRE(call.functions.size() == 2);
  CHECK(call.functions[0].name == "test.ping");
  CHECK(as_json(call.functions[0].args) == "[]");
  CHECK(as_json(call.functions[1].args) == R"(["hi"])");
  CHECK(as_json(call.functions[1].kwargs) == R"({"a": 1})");
}

TEST_CASE("a compound call may have no arguments") {
  for (const std::string none :
       {R"("x": 1)", R"("arg": [])", R"("arg": null)", R"("arg": "")", R"("kwarg": {})"}) {
    CHECK(Read(compound(R"("fun": ["test.ping", "test.version"], )" + none)).local().functions.size() == 2);
    CHECK(Read(compound(R"("fun": ["test.ping"], )" + none)).local().compound);
  }
}

TEST_CASE("a compound call has at most 100 functions") {
  std::string names = R"("f.f")";
  for (int i = 1; i < 100; ++i) names += R"(, "f.f")";
  CHECK(Read(compound(R"("fun": [)" + names + "]")).local().functions.size() == 100);
  CHECK(refusal(compound(R"("fun": [)" + names + R"(, "f.f"])")) ==
        "Lowstate chunk 0: 'fun' names 101 functions; at most 100 are accepted.");
}

TEST_CASE("a compound call with ambiguous arguments is refused") {
  CHECK(refusal(compound(R"("fun": [])")) ==
        "Lowstate chunk 0: 'fun' is an empty list; it must name at least one function.");
  CHECK(refusal(compound(R"("fun": ["test.ping", 5])")) ==
        "Lowstate chunk 0: 'fun' must be the name of a function; found int.");
  CHECK(refusal(compound(R"("fun": ["a.b", "c.d"], "arg": "x")")) ==
        "Lowstate chunk 0: 'arg' must be a list with one list of arguments for each function in 'fun'; found "
        "str.");
  CHECK(refusal(compound(R"("fun": ["a.b", "c.d"], "arg": [[]])")) ==
        "Lowstate chunk 0: 'arg' must hold one list of arguments for each function in 'fun'; found 1 for 2 "
        "functions.");
  CHECK(refusal(compound(R"("fun": ["a.b", "c.d"], "arg": [[], "x"])")) ==
        "Lowstate chunk 0: 'arg' must be a list of lists, since 'fun' is a list; found str.");
  CHECK(
      refusal(compound(R"("fun": ["a.b", "c.d"], "kwarg": {"x": 1})")) ==
      "Lowstate chunk 0: 'kwarg' does not say which of the functions in 'fun' it is for; put an object with "
      "\"__kwarg__\": true at the end of that function's list in 'arg'.");
}

TEST_CASE("other keys of a runner chunk are keyword arguments and win over kwarg") {
  const Read read(runner(
      R"("arg": ["x", {"__kwarg__": true, "a": 1, "b": 1}], "kwarg": {"b": 2, "c": 2}, "c": 3, "d": null, "jid": "1", "tgt": "*",
         "eauth": "pam", "username": "u", "password": "p", "token": "t", "user": "root", "key": "k", "timeout": 7,
         "full_return": true)"));
  const MasterCall& call = read.chunk().master();
  CHECK(as_json(call.function.args) == R"(["x"])");
  CHECK(as_json(call.function.kwargs) == R"({"a": 1, "b": 2, "c": 3, "d": null, "jid": "1", "tgt": "*"})");
  CHECK(call.timeout == std::chrono::seconds(7));
  CHECK(call.full_return);
}

TEST_CASE("of many equal keyword arguments the last wins") {
  std::string first;
  for (int i = 0; i < 40; ++i) first += format(R"("k{}": 1, )", i);
  const Read read(runner(R"("kwarg": {)" + first + R"("z": 1}, "k39": 2, "k0": 2, "k40": 2)"));
  const auto& found = read.chunk().master().function.kwargs;
  REQUIRE(found.size() == 42);
  CHECK(found[0].value.integer() == 2);
  CHECK(found[1].value.integer() == 1);
  CHECK(found[39].value.integer() == 2);
  CHECK(found[41].key == "k40");
}

TEST_CASE("a call has at most 10000 strings name=value") {
  const auto many = [](int count, std::string_view text) {
    std::string arg = R"("arg": [")" + std::string(text);
    for (int i = 1; i < count; ++i) arg.append(R"(", ")").append(text);
    return local_with(arg + R"("])");
  };
  CHECK(refusal(many(10001, "a=1")) ==
        "Lowstate chunk 0: 'arg' has 10001 strings of the form name=value; at most 10000 are accepted.");
  CHECK(refusal(many(10000, "a=1")) == "not refused");
  CHECK(refusal(many(10001, "a")) == "not refused");
}

TEST_CASE("a text argument that is read as YAML and has an alias is refused") {
  const std::string aliased = R"("a=[&a x, *a]")";
  const std::string sentence =
      "Lowstate chunk 0: 'arg' has a string that cannot be read as YAML, the value of 'a': line 1, column 8: "
      "found a YAML alias, expected the value itself; write it out";
  CHECK(refusal(local_with(R"("arg": ["x", )" + aliased + "]")) == sentence);
  CHECK(refusal(local_with(R"("arg": )" + aliased)) == sentence);
  CHECK(refusal(local_with(R"("fun": ["test.arg"], "arg": [[)" + aliased + "]]")) == sentence);
  CHECK(refusal(runner(R"("arg": [)" + aliased + "]")) == sentence);
  CHECK(refusal(runner(R"("arg": ["{a: &a x, b: *a}"])")) ==
        "Lowstate chunk 0: 'arg' has a string that cannot be read as YAML: line 1, column 14: found a YAML "
        "alias, expected the value itself; write it out");
  CHECK(args(R"("arg": ["[&a x, *a]"])") == R"(["[&a x, *a]"])");
  CHECK(args(R"("arg": ["a=ls *.sh && rm *.sh"])") == R"(["a=ls *.sh && rm *.sh"])");
}

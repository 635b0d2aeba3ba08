// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "read.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/lowstate/master_arguments.h"

namespace rest_fcgi::lowstate {
namespace {

using test::as_json;
using test::check_refused;
using test::local_with;
using test::Read;
using test::refusal;

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

TEST_CASE("arg is a list or a single argument, and may have keyword arguments, over which kwarg wins") {
  CHECK(args(R"("arg": ["a", 1, 2.5, null])") == R"(["a", 1, 2.5, null])");
  CHECK(args(R"("arg": "abc")") == R"(["abc"])");
  CHECK(args(R"("arg": 5)") == "[5]");
  CHECK(args(R"("arg": {"a": 1})") == R"([{"a": 1}])");
  CHECK(args(R"("x": 1)") == "[]");
  CHECK(args(R"("arg": [])") == "[]");
  const std::string both =
      R"("arg": [1, {"a": 1, "b": 2, "__kwarg__": true}], "kwarg": {"b": 3, "__kwarg__": true})";
  CHECK(args(both) == "[1]");
  CHECK(kwargs(both) == R"({"a": 1, "b": 3})");
  CHECK(args(R"("arg": [{"a": 1, "__kwarg__": false}])") == R"([{"a": 1, "__kwarg__": false}])");
}

TEST_CASE("kwarg must be an object, and keys and keyword arguments reserved for Salt are refused") {
  CHECK(kwargs(R"("kwarg": {"b": {"c": [1]}})") == R"({"b": {"c": [1]}})");
  CHECK(refusal(local_with(R"("arg": [{"__kwarg__": true, "__pub_jid": "1"}])")) != "not refused");
  const std::string reserved =
      "the key '__user__' is refused; keys that begin with '__' are reserved for Salt.";
  check_refused({{local_with(R"("kwarg": ["a"])"), "'kwarg' must be an object; found list."},
                 {local_with(R"("kwarg": {"__pub_user": "root"})"),
                  "the keyword argument '__pub_user' is refused; names that begin with '__pub_' are reserved "
                  "for Salt."},
                 {runner(R"("__user__": "root")"), reserved},
                 {runner(R"("kwarg": {"__user__": "root"})"), reserved},
                 {runner(R"("arg": [{"__kwarg__": true, "__user__": "root"}])"), reserved}});
}

TEST_CASE("a function's name is a string of 1 to 255 bytes") {
  check_refused(
      {{compound(R"("arg": [])"), "'fun' is missing; a local chunk needs 'client', 'tgt' and 'fun'."},
       {compound(R"("fun": 5)"), "'fun' must be the name of a function; found int."},
       {R"({"client": "runner", "fun": ["a.b"]})", "'fun' must be the name of a function; found list."},
       {compound(R"("fun": "")"), "'fun' is empty; it must be the name of a function."},
       {compound(R"("fun": ")" + std::string(256, 'f') + "\""),
        "'fun' has 256 bytes; the name of a function has at most 255."},
       {R"([{"client": "wheel"}])", "'fun' is missing; a wheel chunk needs 'client' and 'fun'."}});
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

TEST_CASE("a compound call may have no arguments, and at most 100 functions") {
  for (const std::string none :
       {R"("x": 1)", R"("arg": [])", R"("arg": null)", R"("arg": "")", R"("kwarg": {})"}) {
    CHECK(Read(compound(R"("fun": ["test.ping", "test.version"], )" + none)).local().functions.size() == 2);
    CHECK(Read(compound(R"("fun": ["test.ping"], )" + none)).local().compound);
  }
  std::string names = R"("f.f")";
  for (int i = 1; i < 100; ++i) names += R"(, "f.f")";
  CHECK(Read(compound(R"("fun": [)" + names + "]")).local().functions.size() == 100);
  CHECK(refusal(compound(R"("fun": [)" + names + R"(, "f.f"])")) ==
        "Lowstate chunk 0: 'fun' names 101 functions; at most 100 are accepted.");
}

TEST_CASE("a compound call with ambiguous arguments is refused") {
  check_refused(
      {{compound(R"("fun": [])"), "'fun' is an empty list; it must name at least one function."},
       {compound(R"("fun": ["test.ping", 5])"), "'fun' must be the name of a function; found int."},
       {compound(R"("fun": ["a.b", "c.d"], "arg": "x")"),
        "'arg' must be a list with one list of arguments for each function in 'fun'; found str."},
       {compound(R"("fun": ["a.b", "c.d"], "arg": [[]])"),
        "'arg' must hold one list of arguments for each function in 'fun'; found 1 for 2 functions."},
       {compound(R"("fun": ["a.b", "c.d"], "arg": [[], "x"])"),
        "'arg' must be a list of lists, since 'fun' is a list; found str."},
       {compound(R"("fun": ["a.b", "c.d"], "kwarg": {"x": 1})"),
        "'kwarg' does not say which of the functions in 'fun' it is for; put an object with \"__kwarg__\": "
        "true at the end of that function's list in 'arg'."}});
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
  const std::string place = "'arg' has a string that cannot be read as YAML";
  const std::string alias = "found a YAML alias, expected the value itself; write it out";
  const std::string value_of_a = place + ", the value of 'a': line 1, column 8: " + alias;
  check_refused({{local_with(R"("arg": ["x", )" + aliased + "]"), value_of_a},
                 {local_with(R"("arg": )" + aliased), value_of_a},
                 {local_with(R"("fun": ["test.arg"], "arg": [[)" + aliased + "]]"), value_of_a},
                 {runner(R"("arg": [)" + aliased + "]"), value_of_a},
                 {runner(R"("arg": ["{a: &a x, b: *a}"])"), place + ": line 1, column 14: " + alias}});
  CHECK(args(R"("arg": ["[&a x, *a]"])") == R"(["[&a x, *a]"])");
  CHECK(args(R"("arg": ["a=ls *.sh && rm *.sh"])") == R"(["a=ls *.sh && rm *.sh"])");
}

/// Copies the arguments out of `[[positional], {keyword}]` and destroys the document, to show that the copy
/// borrows nothing from it. Returns the copy as text.
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

TEST_CASE("MasterArguments copies arguments, reads a command line, and keeps job ids as text") {
  CHECK(taken(R"([["a", 1.0, {"b": null}], {}])", false) == R"(["a", 1.0, {"b": null}])");
  CHECK(taken(R"([[], {"a": "b=1", "c": [2]}])", false) == R"([{"a": "b=1", "c": [2]}])");
  CHECK(taken(R"([["1", "a=2", "[x]", 3], {}])", true) == R"([1, ["x"], 3, {"a": 2}])");
  CHECK(taken(R"([["1", "a=2", "[x]", 3], {}])", false) == R"(["1", "a=2", "[x]", 3])");
  CHECK(taken(R"([["a=1", "b=2"], {"a": "3"}])", true) == R"([{"b": 2, "a": "3"}])");
  CHECK(taken(R"([[20261120233651543848], {"jid": 20261120233651543848}])", false) ==
        R"(["20261120233651543848", {"jid": "20261120233651543848"}])");
  CHECK(taken("[[-1234567890123456789], {}]", false) == "[-1234567890123456789]");
  CHECK(taken(R"([["20261120233651543848", "jid=20261120233651543848"], {}])", true) ==
        R"(["20261120233651543848", {"jid": "20261120233651543848"}])");
}

TEST_CASE("sort_arguments makes a keyword argument of a text name=value, and the last one of a name counts") {
  CHECK(sorted(R"(["a", 1, null])", R"({"k": [2]})") == "a 1 None k=>[2] ");
  CHECK(sorted(R"(["a=1", "EVIL"])", "{}") == "EVIL a=>1 ");
  CHECK(sorted(R"(["cmd=rm x", "b=1", "safe"])", R"({"cmd": "ls"})") == "safe cmd=>ls b=>1 ");
  CHECK(sorted(R"(["a==b", "1=2", "b=true"])", "{}") == "a==b 1=2 b=>True ");
}

}  // namespace
}  // namespace rest_fcgi::lowstate

// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "config_dir.h"

namespace rest_fcgi::config {
namespace {

std::string shown(const auth::FunctionRule& function) {
  std::string text = function.pattern;
  for (const auth::ArgumentCondition& condition : function.conditions) {
    text += "(";
    for (const auto& arg : condition.args) text += arg.value_or("any") + " ";
    for (const auto& [name, value] : condition.kwargs) text += name + "=" + value.value_or("any") + " ";
    text += condition.others ? "...)" : ")";
  }
  return text;
}

/// The rules of alice, who is the only user of the only back end: `scope[functions]`, one after the other.
std::string rules(const std::string& entries) {
  const Settings settings = settings_of("external_auth:\n  file:\n    alice:\n" + entries);
  std::string text;
  for (const auth::Rule& rule : settings.auth.external_auth.at(0).principals.at(0).rules) {
    text += rule.scope + "[";
    for (const auth::FunctionRule& function : rule.functions) text += shown(function) + ";";
    text += "]";
  }
  return text;
}

/// The message for alice's rules, which begin on line 4.
std::string rule_mistake(const std::string& entries) {
  return error_of("external_auth:\n  file:\n    alice:\n" + entries);
}

TEST_CASE("each rule and function has its file and line") {
  const ConfigDir dir(
      "external_auth:\n  file:\n    alice:\n      - test.*\n      - 'web*':\n          - sys.*\n"
      "          - test.arg: {args: [a]}\n      - '@runner'\n      - '@jobs':\n        - list_jobs\n");
  const auto settings = dir.load();
  REQUIRE(settings);
  std::string places;
  for (const auth::Rule& rule : settings->auth.external_auth.at(0).principals.at(0).rules) {
    places += rule.where + "[";
    for (const auth::FunctionRule& function : rule.functions) places += function.where + ";";
    places += "]";
  }
  CHECK(dir.without_dir(places) ==
        "master:4[master:4;]master:5[master:6;master:7;]master:8[]master:9[master:10;]");
}

TEST_CASE("back ends have settings, users and groups") {
  const Settings settings = settings_of(
      "external_auth:\n"
      "  file: {^filename: /etc/users, ^field_separator: '|', ^username_field: 2, alice: [test.*], admins%: "
      "['.*']}\n"
      "  sharedsecret: {'*': []}\n"
      "  pam:\n");
  const auto& eauths = settings.auth.external_auth;
  REQUIRE(eauths.size() == 3);
  CHECK(eauths[0].name == "file");
  using Settings_ = std::vector<std::pair<std::string, std::string>>;
  CHECK(eauths[0].settings ==
        Settings_{{"filename", "/etc/users"}, {"field_separator", "|"}, {"username_field", "2"}});
  REQUIRE(eauths[0].principals.size() == 2);
  CHECK(eauths[0].principals[0].name == "alice");
  CHECK(eauths[0].principals[1].name == "admins%");
  CHECK(eauths[1].principals[0].name == "*");
  CHECK(eauths[1].principals[0].rules.empty());
  CHECK(eauths[2].name == "pam");
  CHECK(eauths[2].principals.empty());
}

TEST_CASE("a user without rules has none") {
  CHECK(rules("\n").empty());
}

TEST_CASE("functions are allowed on every minion, or on those of a target") {
  CHECK(rules("    - test.*\n    - sys.doc\n") == "[test.*;][sys.doc;]");
  CHECK(rules("    - 'web*': [test.*, sys.doc]\n") == "web*[test.*;sys.doc;]");
  CHECK(rules("    - 'G@os:Debian and web*':\n      - test.ping\n") == "G@os:Debian and web*[test.ping;]");
  CHECK(rules("    - 'web*': test.*\n") == "web*[test.*;]");
}

TEST_CASE("runners, wheels and jobs have scopes of their own") {
  CHECK(rules("    - '@runner'\n    - '@wheel'\n    - '@jobs'\n") == "@runner[]@wheel[]@jobs[]");
  CHECK(rules("    - '@runner': [manage.*]\n    - '@jobs': lookup_jid\n") ==
        "@runner[manage.*;]@jobs[lookup_jid;]");
}

TEST_CASE("functions have conditions on their arguments") {
  CHECK(rules("    - '*':\n"
              "      - test.arg:\n"
              "          args: ['a.*', ~]\n"
              "          kwargs: {'x': 'y.*', z: }\n") == "*[test.arg(a.* any x=y.* z=any );]");
  CHECK(rules("    - '*': {test.arg: [{args: [a]}, {kwargs: {b: c}}]}\n") == "*[test.arg(a )(b=c );]");
  CHECK(rules("    - '@runner':\n      - test.arg: {args: [a]}\n") == "@runner[test.arg(a );]");
  CHECK(rules("    - '*': {test.arg: {}}\n") == "*[test.arg();]");
  CHECK(rules("    - '*': {test.arg: [{args: [a], others: true}, {args: [b], others: no}]}\n") ==
        "*[test.arg(a ...)(b );]");
  CHECK(rules("    - '*': {test.arg: {args: , kwargs: }}\n") == "*[test.arg();]");
}

TEST_CASE("a user named `no` keeps the name") {
  CHECK(settings_of("external_auth: {file: {no: [test.ping]}}\n").auth.external_auth[0].principals[0].name ==
        "no");
}

const std::string kEntries =
    "expected functions such as test.*, targets such as web*: [test.*], @runner, @wheel or @jobs";
const std::string kFunctions =
    "expected functions such as test.*, or maps such as test.arg: {args: [a], kwargs: {b: c}}";

TEST_CASE("external_auth and its back ends have to be maps") {
  CHECK(error_of("external_auth: [pam]\n") == "master:1: external_auth: found a list, expected a map");
  CHECK(error_of("external_auth:\n  file: [alice]\n") ==
        "master:2: external_auth: file: found a list, expected a map from users to lists of functions");
}

TEST_CASE("a setting has to be one value") {
  CHECK(error_of("external_auth: {file: {^filename: [/a]}}\n") ==
        "master:1: external_auth: file: ^filename: found a list, expected one value");
  CHECK(settings_of("external_auth: {file: {^filename: }}\n").auth.external_auth.at(0).settings.empty());
}

TEST_CASE("a user's rules have to be a list of functions and targets") {
  CHECK(error_of("external_auth: {file: {alice: test.ping}}\n") ==
        "master:1: external_auth: file: alice: found \"test.ping\", expected a list of" + kEntries.substr(8));
  CHECK(error_of("external_auth: {file: {alice: {web: test.ping}}}\n") ==
        "master:1: external_auth: file: alice: found a map, expected a list of" + kEntries.substr(8));
  CHECK(rule_mistake("    - test.ping\n    - 5\n") ==
        "master:5: external_auth: file: alice: found 5, " + kEntries);
  CHECK(rule_mistake("    - ''\n") == "master:4: external_auth: file: alice: found \"\", " + kEntries);
  CHECK(rule_mistake("    - [test.ping]\n") ==
        "master:4: external_auth: file: alice: found a list, " + kEntries);
  CHECK(rule_mistake("    - {a: b, c: d}\n") ==
        "master:4: external_auth: file: alice: found a map, " + kEntries);
  CHECK(rule_mistake("    - {'': test.ping}\n") ==
        "master:4: external_auth: file: alice: found an empty target, expected a target such as web*, or "
        "@runner");
}

TEST_CASE("a target without functions is a mistake and never means all functions") {
  CHECK(rule_mistake("    - '@runner': []\n") ==
        "master:4: external_auth: file: alice: @runner: found an empty list, " + kFunctions);
  CHECK(rule_mistake("    - '@runner':\n") ==
        "master:4: external_auth: file: alice: @runner: found nothing, " + kFunctions);
  CHECK(rule_mistake("    - 'web*':\n      - test.ping\n      - 7\n") ==
        "master:6: external_auth: file: alice: web*: found 7, " + kFunctions);
  CHECK(rule_mistake("    - 'web*': ['']\n") ==
        "master:4: external_auth: file: alice: web*: found \"\", " + kFunctions);
  CHECK(rule_mistake("    - 'web*': {a: {}, b: {}}\n") ==
        "master:4: external_auth: file: alice: web*: found a map, " + kFunctions);
}

TEST_CASE("a malformed condition is a mistake and never means no condition") {
  const std::string where = "external_auth: file: alice: web*: test.arg: ";
  const auto condition = [](const std::string& text) {
    return rule_mistake("    - 'web*': {test.arg: " + text + "}\n");
  };
  CHECK(condition("[]") == "master:4: " + where + "found an empty list, expected args and kwargs");
  CHECK(condition("") ==
        "master:4: " + where + "found nothing, expected a map such as {args: [a], kwargs: {b: c}}");
  CHECK(condition("[a]") ==
        "master:4: " + where + "found \"a\", expected a map such as {args: [a], kwargs: {b: c}}");
  CHECK(condition("{arg: [a]}") == "master:4: " + where + "\"arg\": unknown key, did you mean args?");
  CHECK(condition("{args: a}") == "master:4: " + where + "args: found \"a\", expected a list");
  CHECK(condition("{args: [5]}") ==
        "master:4: " + where + "args: found 5, expected text, or nothing for any value");
  CHECK(condition("{kwargs: [a]}") == "master:4: " + where + "kwargs: found a list, expected a map");
  CHECK(condition("{args: [a], others: [b]}") ==
        "master:4: " + where + "others: found a list, expected true or false");
  CHECK(condition("{kwargs: {x: [a]}}") ==
        "master:4: " + where + "kwargs: x: found a list, expected text, or nothing for any value");
}

}  // namespace
}  // namespace rest_fcgi::config

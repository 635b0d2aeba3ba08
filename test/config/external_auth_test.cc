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

/// Returns the rules of alice, who is the only user, each as `scope[functions]`.
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

/// Returns the error message for the rules of alice. The rules begin on line 4 of the file.
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

TEST_CASE("a malformed external_auth, back end or setting is a mistake") {
  check_message(error_of("external_auth: [pam]\n"), "master:1: external_auth: found a list");
  check_message(error_of("external_auth:\n  file: [alice]\n"), "master:2: external_auth: file: found a list");
  check_message(error_of("external_auth: {file: {^filename: [/a]}}\n"),
                "master:1: external_auth: file: ^filename: found a list");
  CHECK(settings_of("external_auth: {file: {^filename: }}\n").auth.external_auth.at(0).settings.empty());
}

TEST_CASE("a malformed rule is a mistake with its line") {
  for (const std::string rules : {"test.ping", "{web: test.ping}"})
    check_message(error_of("external_auth: {file: {alice: " + rules + "}}\n"),
                  "master:1: external_auth: file: alice: found ");
  check_message(rule_mistake("    - test.ping\n    - 5\n"), "master:5: external_auth: file: alice: found 5");
  for (const std::string rule : {"''", "[test.ping]", "{a: b, c: d}", "{'': test.ping}"})
    check_message(rule_mistake("    - " + rule + "\n"), "master:4: external_auth: file: alice: found ");
}

TEST_CASE("a target without functions is a mistake and never means all functions") {
  for (const std::string rule :
       {"'@runner': []", "'@runner':", "'@runner': ['']", "'@runner': {a: {}, b: {}}"})
    check_message(rule_mistake("    - " + rule + "\n"),
                  "master:4: external_auth: file: alice: @runner: found ");
  check_message(rule_mistake("    - 'web*':\n      - test.ping\n      - 7\n"),
                "master:6: external_auth: file: alice: web*: found 7");
}

TEST_CASE("a malformed condition is a mistake and never means no condition") {
  const std::pair<const char*, const char*> conditions[] = {
      {"[]", "found an empty list"},
      {"", "found nothing"},
      {"[a]", "found \"a\""},
      {"{arg: [a]}", "\"arg\": unknown key"},
      {"{args: a}", "args: found \"a\""},
      {"{args: [5]}", "args: found 5"},
      {"{kwargs: [a]}", "kwargs: found a list"},
      {"{args: [a], others: [b]}", "others: found a list"},
      {"{kwargs: {x: [a]}}", "kwargs: x: found a list"}};
  for (const auto& [text, found] : conditions) {
    check_message(rule_mistake(std::string("    - 'web*': {test.arg: ") + text + "}\n"),
                  std::string("master:4: external_auth: file: alice: web*: test.arg: ") + found);
  }
}

}  // namespace
}  // namespace rest_fcgi::config

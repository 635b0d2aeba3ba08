// SPDX-License-Identifier: MIT
#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "config_dir.h"

namespace rest_fcgi::config {
namespace {

using std::chrono::seconds;

std::string guard_mistake(const std::string& guard) {
  return error_of("rest_fcgi: {login_guard: {" + guard + "}}\n");
}

TEST_CASE("the page offers the back ends that are enabled") {
  const std::string back_ends =
      "external_auth: {pam: {a: []}, auto: {a: []}, ldap: {a: []}, file: {a: []}}\n";
  const auto offered = [](const Settings& settings) { return settings.rest_cherrypy.common.eauths; };
  CHECK(offered(settings_of("")).empty());
  CHECK(offered(settings_of(back_ends)) == std::vector<std::string>{"pam", "file"});
  CHECK(offered(settings_of(back_ends + "rest_fcgi: {allow_auto_eauth: true}\n")) ==
        std::vector<std::string>{"pam", "auto", "file"});
  const Settings real = settings_of(back_ends + "rest_fcgi: {engine: salt}\n");
  CHECK(offered(real) == std::vector<std::string>{"pam", "auto", "ldap", "file"});
  CHECK(real.rest_tornado.common.eauths == offered(real));
}

TEST_CASE("the keys of login_guard are read, and a malformed one is a mistake with its place") {
  auth::LoginGuardOptions guard = settings_of("").auth.login_guard;
  CHECK(guard.tries == 10);
  CHECK(guard.address_tries == 100);
  CHECK(guard.window == seconds(300));
  CHECK(guard.refuse == seconds(300));
  guard = settings_of("rest_fcgi:\n  login_guard: {tries: 3, address_tries: 7, window: 60, refuse: 90}\n")
              .auth.login_guard;
  CHECK(guard.tries == 3);
  CHECK(guard.address_tries == 7);
  CHECK(guard.window == seconds(60));
  CHECK(guard.refuse == seconds(90));
  CHECK(guard_mistake("tries: 1001") ==
        "master:1: rest_fcgi: login_guard: tries: found 1001, expected an integer from 0 to 1000");
  CHECK(guard_mistake("address_tries: 0") ==
        "master:1: rest_fcgi: login_guard: address_tries: found 0, expected an integer from 1 to 4000");
  CHECK(guard_mistake("window: 0").ends_with("expected whole seconds from 1 to 86400"));
  CHECK(guard_mistake("refuse: 86401").ends_with("expected whole seconds from 1 to 86400"));
  CHECK(guard_mistake("trie: 1").ends_with("did you mean tries?"));
}

TEST_CASE("waiting logins leave threads for other requests") {
  CHECK(settings_of("").auth.login_guard.max_delayed == 64);
  for (const std::size_t threads : {5U, 8U, 100U, 16384U}) {
    const Settings settings =
        settings_of("rest_fcgi: {min_threads: 1, max_threads: " + std::to_string(threads) + "}\n");
    const auth::LoginGuardOptions& guard = settings.auth.login_guard;
    CHECK(guard.threads == threads);
    for (const std::size_t most : {guard.max_delayed, guard.max_queued, settings.auth.pam.max_waiting,
                                   settings.salt.max_waiting_logins}) {
      CHECK(most <= threads / 5);
    }
  }
  CHECK(settings_of("rest_fcgi: {max_threads: 1}\n").auth.login_guard.max_delayed == 1);
}

TEST_CASE("pam_helper is a path or a socket, and auth.pam.service is read") {
  const Settings standard = settings_of("");
  CHECK(standard.auth.pam.helper.empty());
  CHECK(standard.auth.pam.service == "login");
  const Settings path = settings_of("rest_fcgi: {pam_helper: /opt/rest_fcgi_pam}\nauth.pam.service: salt\n");
  CHECK(path.auth.pam.helper == "/opt/rest_fcgi_pam");
  CHECK(path.auth.pam.service == "salt");
  CHECK(settings_of("rest_fcgi: {pam_helper: 'unix:/run/x/pam.sock'}\n").auth.pam.helper ==
        "unix:/run/x/pam.sock");
  for (const char* wrong : {"rest_fcgi_pam", "'unix:pam.sock'", "[]", "7"}) {
    CAPTURE(wrong);
    CHECK(error_of("rest_fcgi: {pam_helper: " + std::string(wrong) + "}\n").find("pam_helper: found ") !=
          std::string::npos);
  }
}

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

/// Returns the rules of the only user alice, each as `scope[functions]`.
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

/// The rules of alice begin on line 4 of the file.
std::string rule_mistake(const std::string& entries) {
  return error_of("external_auth:\n  file:\n    alice:\n" + entries);
}

TEST_CASE("each rule and function has its file and line") {
  const ConfigDir dir(
      "external_auth:\n  file:\n    alice:\n      - test.*\n      - 'web*':\n          - sys.*\n"
      "          - test.arg: {args: [a]}\n      - '@runner'\n      - '@jobs':\n        - list_jobs\n");
  const auto settings = *dir.load();
  std::string places;
  for (const auth::Rule& rule : settings.auth.external_auth.at(0).principals.at(0).rules) {
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
      "  sharedsecret: {'*': [], no: []}\n"
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
  CHECK(eauths[1].principals[1].name == "no");
  CHECK(eauths[2].name == "pam");
  CHECK(eauths[2].principals.empty());
}

TEST_CASE("functions are allowed on every minion, on those of a target, or as runners, wheels and jobs") {
  CHECK(rules("    - test.*\n    - sys.doc\n") == "[test.*;][sys.doc;]");
  CHECK(rules("    - 'web*': [test.*, sys.doc]\n") == "web*[test.*;sys.doc;]");
  CHECK(rules("    - 'G@os:Debian and web*':\n      - test.ping\n") == "G@os:Debian and web*[test.ping;]");
  CHECK(rules("    - 'web*': test.*\n") == "web*[test.*;]");
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

TEST_CASE("a malformed external_auth, back end, setting or rule is a mistake with its line") {
  check_message(error_of("external_auth: [pam]\n"), "master:1: external_auth: found a list");
  check_message(error_of("external_auth:\n  file: [alice]\n"), "master:2: external_auth: file: found a list");
  check_message(error_of("external_auth: {file: {^filename: [/a]}}\n"),
                "master:1: external_auth: file: ^filename: found a list");
  CHECK(settings_of("external_auth: {file: {^filename: }}\n").auth.external_auth.at(0).settings.empty());
  for (const std::string rules : {"test.ping", "{web: test.ping}"})
    check_message(error_of("external_auth: {file: {alice: " + rules + "}}\n"),
                  "master:1: external_auth: file: alice: found ");
  check_message(rule_mistake("    - test.ping\n    - 5\n"), "master:5: external_auth: file: alice: found 5");
  for (const std::string rule : {"''", "[test.ping]", "{a: b, c: d}", "{'': test.ping}"})
    check_message(rule_mistake("    - " + rule + "\n"), "master:4: external_auth: file: alice: found ");
}

TEST_CASE("a target without functions never means all, and a malformed condition never means none") {
  for (const std::string rule :
       {"'@runner': []", "'@runner':", "'@runner': ['']", "'@runner': {a: {}, b: {}}"})
    check_message(rule_mistake("    - " + rule + "\n"),
                  "master:4: external_auth: file: alice: @runner: found ");
  check_message(rule_mistake("    - 'web*':\n      - test.ping\n      - 7\n"),
                "master:6: external_auth: file: alice: web*: found 7");
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

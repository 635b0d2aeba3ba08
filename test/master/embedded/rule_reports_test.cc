// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../support/captured_log.h"
#include "../../support/embedded_engine.h"
#include "../../support/holds.h"

namespace rest_fcgi::embedded {
namespace {

using auth::FunctionRule;
using auth::Principal;
using auth::Rule;
using test::EmbeddedEngine;
using test::holds;

/// Returns a rule for the functions `pattern` in this line of the master file.
FunctionRule fun(std::string pattern, int line, std::vector<auth::ArgumentCondition> conditions = {}) {
  return {std::move(pattern), std::move(conditions), "master:" + std::to_string(line)};
}

Rule rule(std::string scope, std::vector<FunctionRule> functions, int line) {
  return {std::move(scope), std::move(functions), "master:" + std::to_string(line)};
}

struct Fixture {
  Fixture() {
    options.minions = {{"web1"}, {"web2"}, {"db1"}};
    auth.allow_auto_eauth = true;
    auth.external_auth.push_back(
        {"auto",
         {},
         {{"alice",
           {rule("", {fun("test.*", 4)}, 4), rule("web*", {fun("sys.doc", 6), fun("disk.*", 7)}, 5),
            rule("", {fun("cmd.run", 8, {{{std::string("ls")}, {}}})}, 8), rule("@runner", {}, 9),
            rule("@jobs", {fun("list_jobs", 11)}, 10),
            rule("@wheel", {fun("key.list", 12, {{{"a"}, {}}})}, 12)}},
          {"ops%", {rule("", {fun("grains.*", 14)}, 14)}},
          {"*", {rule("", {fun("test.ping", 16)}, 16)}}}});
  }

  std::string explain(std::string user, std::string fun, std::string tgt, std::string eauth = "") {
    const auto explanation =
        embedded::explain(options, auth, {std::move(eauth), std::move(user), std::move(fun), std::move(tgt)});
    if (!explanation) return explanation.error().message;
    CHECK(explanation->allowed == (explanation->text.find("\n  allowed\n") != std::string::npos));
    return explanation->text;
  }

  Options options;
  auth::Options auth;
};

/// Returns the parts of fred's only rule that match nothing, with a space before each part.
std::string unmatched_in(const EmbeddedEngine& engine, Rule rule) {
  std::string texts;
  for (const UnmatchedRulePart& part :
       engine.runtime->unmatched_rule_parts({{"file", {}, {{"fred", {std::move(rule)}}}}})) {
    texts += " " + part.text;
  }
  return texts;
}

Rule rule(std::string scope, const std::vector<std::string>& functions) {
  Rule made{std::move(scope), {}, "master:7"};
  for (const std::string& function : functions) made.functions.push_back({function, {}, "master:8"});
  return made;
}

}  // namespace

TEST_CASE_FIXTURE(Fixture,
                  "explain names the rule that allows a call, or the minions that it does not match") {
  CHECK(explain("alice", "test.ping", "*") ==
        "auto: may alice run test.ping on *?\n  master:4: alice: test.*: allows it\n  allowed\n");
  CHECK(explain("alice", "disk.usage", "web1 or web2") ==
        "auto: may alice run disk.usage on web1 or web2?\n  master:7: alice: web*: disk.*: allows it\n"
        "  allowed\n");
  CHECK(explain("eve", "test.ping", "*") ==
        "auto: may eve run test.ping on *?\n  master:16: *: test.ping: allows it\n  allowed\n");
  CHECK(explain("alice", "sys.doc", "*") ==
        "auto: may alice run sys.doc on *?\n"
        "  master:6: alice: web*: sys.doc: does not allow it: '*' also matches db1\n  refused\n");
  CHECK(holds(explain("alice", "sys.doc", "nosuch"), "no minion matches 'nosuch'\n  refused\n"));
}

TEST_CASE_FIXTURE(Fixture,
                  "explain says that a rule allows certain arguments only, or that there is no rule") {
  CHECK(holds(explain("alice", "cmd.run", "*"), "master:8: alice: cmd.run: allows it only with certain"));
  CHECK(holds(explain("alice", "key.list", "@wheel"),
              "master:12: alice: @wheel: key.list: allows it only with"));
  const std::string none = "  no rule for this user names the function\n  refused\n";
  CHECK(explain("alice", "grains.items", "*").ends_with(none));
  CHECK(explain("eve", "test.echo", "*").ends_with(none));
  CHECK(explain("alice", "key.accept", "@wheel").ends_with(none));
}

TEST_CASE_FIXTURE(Fixture, "explain of a back end's user explains this back end only") {
  CHECK(explain("alice", "test.ping", "*", "auto").ends_with("  allowed\n"));
  CHECK(holds(explain("alice", "test.ping", "*", "ldap"), "no back end ldap"));
}

TEST_CASE_FIXTURE(Fixture, "explain takes @runner and @wheel as targets") {
  const std::string text = explain("alice", "jobs.list_jobs", "@runner");
  CHECK(holds(text, "  master:9: alice: @runner: allows it\n"));
  CHECK(holds(text, "  master:11: alice: @jobs: list_jobs: allows it\n"));
  CHECK(holds(explain("alice", "jobs.list_jobs", "@jobs"), "found '@jobs'"));
}

TEST_CASE("explain uses groups of the system for pam only") {
  const test::CapturedLog log;
  Fixture fixture;
  fixture.auth.pam.helper = "/nosuch";
  fixture.auth.external_auth.push_back({"pam", {}, {{"root%", {rule("", {fun("grains.*", 20)}, 20)}}}});
  const std::string text = fixture.explain("root", "grains.items", "*");
  CHECK(holds(text,
              "pam: may root run grains.items on *?\n  groups of root: root\n"
              "  master:20: root%: grains.*: allows it\n  allowed\n"));
  CHECK(holds(text, "auto: may root run grains.items on *?\n  no rule"));
}

TEST_CASE("explain refuses a call through a back end that is off") {
  const test::CapturedLog log;
  Fixture fixture;
  fixture.auth.allow_auto_eauth = false;
  CHECK(fixture.explain("alice", "test.ping", "*")
            .ends_with("  this back end is off: no user can log in through it\n  refused\n"));
  fixture.auth.external_auth.clear();
  CHECK(fixture.explain("alice", "test.ping", "*") == "external_auth has no back end: no user can log in\n");
}

TEST_CASE_FIXTURE(Fixture, "explain names a wrong target, with its place in a rule") {
  CHECK(holds(explain("alice", "test.ping", "web1 and"), "found the end"));
  auth.external_auth[0].principals[0].rules.push_back(rule("web* and (", {fun("x.y", 31)}, 30));
  const std::string message = explain("alice", "test.ping", "*");
  CHECK(message.starts_with("master:30: external_auth: auto: alice: "));
  auth.external_auth[0].principals[0].rules.back() = rule("", {fun("(", 40)}, 40);
  CHECK(explain("alice", "test.ping", "*").starts_with("master:40: external_auth: auto: alice: "));
}

TEST_CASE("functions of rules that match no function are reported with the existing names") {
  const EmbeddedEngine engine;
  CHECK(unmatched_in(engine,
                     rule("", {"test.ping", "test.*", ".*", "(test|nosuch)\\.p.*", "network.interfaces"}))
            .empty());
  CHECK(unmatched_in(engine, rule("", {"test.pnig", "tset.*", "(tset|nosuch)\\.ping"})) ==
        " test.pnig tset.* (tset|nosuch)\\.ping");
  const auto parts = engine.runtime->unmatched_rule_parts(
      {{"file", {}, {{"fred", {rule("ms-*", {"test.ping", "pkg.install"})}}}}});
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].place == "master:8: external_auth: file: fred");
  CHECK(parts[0].text == "pkg.install");
  for (const char* name : {"test.ping", "test.*", "network.interfaces", "network.*"}) {
    CHECK_MESSAGE(std::find(parts[0].names.begin(), parts[0].names.end(), name) != parts[0].names.end(),
                  name);
  }
}

TEST_CASE("runners and wheels of rules are reported by form and by module") {
  const EmbeddedEngine engine;
  CHECK(unmatched_in(engine, rule("@runner", {})).empty());
  CHECK(unmatched_in(engine, rule("@events", {})).empty());
  CHECK(unmatched_in(engine, rule("@runners", {"manage.*", "manage.upp", "key.list"})) ==
        " manage.upp key.list");
  CHECK(unmatched_in(engine, rule("@wheel", {"key.list", "manage.up"})) == " manage.up");
  CHECK(unmatched_in(engine, rule("@jobs", {"list_job.*", "jobs.list_jobs"})) == " jobs.list_jobs");
  CHECK(unmatched_in(engine, rule("@cloud", {})) == " @cloud");
}

TEST_CASE("targets of rules that match no minion are reported") {
  const EmbeddedEngine engine;
  for (const char* target : {"*", "ms-0", "L@ms-2,db", "E@ms-\\d", "G@role:web", "not web*", "ms-0 or db"}) {
    CHECK_MESSAGE(unmatched_in(engine, rule(target, {"test.ping"})).empty(), target);
  }
  for (const std::string target :
       {"web*", "ms-9", "L@a,b", "E@ms-\\d\\d", "G@role:nosuch", "ms-0 and ms-1"}) {
    CHECK(unmatched_in(engine, rule(target, {"test.ping"})) == " " + target);
  }
}

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../support/captured_log.h"
#include "rest_fcgi/master/embedded/embedded.h"

namespace rest_fcgi::embedded {
namespace {

using auth::FunctionRule;
using auth::Principal;
using auth::Rule;

/// A function of the rules, which stands on that line.
FunctionRule fun(std::string pattern, int line, std::vector<auth::ArgumentCondition> conditions = {}) {
  return {std::move(pattern), std::move(conditions), "master:" + std::to_string(line)};
}

Rule rule(std::string scope, std::vector<FunctionRule> functions, int line) {
  return {std::move(scope), std::move(functions), "master:" + std::to_string(line)};
}

/// Minions web1, web2 and db1; a back end where alice, the group ops and all others have rules.
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

  std::string explain(std::string user, std::string fun, std::string tgt) {
    const auto explanation =
        embedded::explain(options, auth, {std::move(user), std::move(fun), std::move(tgt)});
    if (!explanation) return explanation.error().message;
    CHECK(explanation->allowed == (explanation->text.find("\n  allowed\n") != std::string::npos));
    return explanation->text;
  }

  Options options;
  auth::Options auth;
};

}  // namespace

TEST_CASE("the line that allows a call is named") {
  Fixture fixture;
  CHECK(fixture.explain("alice", "test.ping", "*") ==
        "auto: may alice run test.ping on *?\n  master:4: alice: test.*: allows it\n  allowed\n");
  CHECK(fixture.explain("alice", "disk.usage", "web1 or web2") ==
        "auto: may alice run disk.usage on web1 or web2?\n  master:7: alice: web*: disk.*: allows it\n"
        "  allowed\n");
  CHECK(fixture.explain("eve", "test.ping", "*") ==
        "auto: may eve run test.ping on *?\n  master:16: *: test.ping: allows it\n  allowed\n");
}

TEST_CASE("a line that names the function for another target says which minions are beyond it") {
  Fixture fixture;
  CHECK(fixture.explain("alice", "sys.doc", "*") ==
        "auto: may alice run sys.doc on *?\n"
        "  master:6: alice: web*: sys.doc: does not allow it: '*' reaches db1, which its target does not\n"
        "  refused\n");
  CHECK(fixture.explain("alice", "sys.doc", "nosuch").find("no minion matches 'nosuch'\n  refused\n") !=
        std::string::npos);
}

TEST_CASE("a line that allows some arguments alone says so") {
  Fixture fixture;
  CHECK(
      fixture.explain("alice", "cmd.run", "*") ==
      "auto: may alice run cmd.run on *?\n  master:8: alice: cmd.run: allows it with arguments that fit its "
      "conditions alone\n  refused\n");
  CHECK(fixture.explain("alice", "key.list", "@wheel")
            .find("master:12: alice: @wheel: key.list: allows it "
                  "with arguments") != std::string::npos);
}

TEST_CASE("where no line names the function, that is said") {
  Fixture fixture;
  const std::string none = "  no line that applies to them names it\n  refused\n";
  CHECK(fixture.explain("alice", "grains.items", "*").ends_with(none));
  CHECK(fixture.explain("eve", "test.echo", "*").ends_with(none));
  CHECK(fixture.explain("alice", "key.accept", "@wheel").ends_with(none));
}

TEST_CASE("runners and wheels are asked about by their form") {
  Fixture fixture;
  const std::string text = fixture.explain("alice", "jobs.list_jobs", "@runner");
  CHECK(text.find("  master:9: alice: @runner: allows it\n") != std::string::npos);
  CHECK(text.find("  master:11: alice: @jobs: list_jobs: allows it\n") != std::string::npos);
  CHECK(fixture.explain("alice", "jobs.list_jobs", "@jobs") ==
        "the target '@jobs' is none: @runner, @wheel or a compound target is");
}

TEST_CASE("saltutil.find_job needs a rule, as any function") {
  Fixture fixture;
  CHECK(fixture.explain("eve", "saltutil.find_job", "*").find("allowed") == std::string::npos);
}

TEST_CASE("groups of the system are those of pam alone") {
  const test::CapturedLog log;
  Fixture fixture;
  fixture.auth.pam.helper = "/nosuch";
  fixture.auth.external_auth.push_back({"pam", {}, {{"root%", {rule("", {fun("grains.*", 20)}, 20)}}}});
  const std::string text = fixture.explain("root", "grains.items", "*");
  CHECK(text.find("pam: may root run grains.items on *?\n  groups of root: root\n"
                  "  master:20: root%: grains.*: allows it\n  allowed\n") != std::string::npos);
  CHECK(text.find("auto: may root run grains.items on *?\n  no line") != std::string::npos);
}

TEST_CASE("what a back end that is off would allow is refused") {
  const test::CapturedLog log;
  Fixture fixture;
  fixture.auth.allow_auto_eauth = false;
  CHECK(fixture.explain("alice", "test.ping", "*")
            .ends_with("  but this back end is off: nobody can log in through it\n  refused\n"));
  fixture.auth.external_auth.clear();
  CHECK(fixture.explain("alice", "test.ping", "*") == "external_auth names no back end: nobody can log in\n");
}

TEST_CASE("a target that is none is named, with its place where it is a rule's") {
  Fixture fixture;
  CHECK(fixture.explain("alice", "test.ping", "web1 and").find("ends where") != std::string::npos);
  fixture.auth.external_auth[0].principals[0].rules.push_back(rule("web* and (", {fun("x.y", 31)}, 30));
  const std::string message = fixture.explain("alice", "test.ping", "*");
  CHECK(message.starts_with("master:30: external_auth: auto: alice: the target 'web* and (': "));
  fixture.auth.external_auth[0].principals[0].rules.back() = rule("", {fun("(", 40)}, 40);
  CHECK(fixture.explain("alice", "test.ping", "*").starts_with("master:40: external_auth: auto: alice: "));
}

}  // namespace rest_fcgi::embedded

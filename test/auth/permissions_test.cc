// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/permissions.h"

#include <doctest/doctest.h>

#include "acl_fixture.h"

namespace rest_fcgi::auth {
namespace {

using Names = AclFixture::Names;

const Names kWeb = {"web1", "web2"};
const Names kMixed = {"web1", "db1"};

struct Vector {
  std::string about;
  std::vector<Rule> rules;
  const char* calls;
  Names minions;
  bool allowed;
};

const Vector kVectors[] = {
    {"an exact name", {anywhere("test.ping")}, R"("test.ping")", kMixed, true},
    {"an exact name is no start", {anywhere("test.ping")}, R"("test.ping_all")", kMixed, false},
    {"a glob", {anywhere("test.*")}, R"("test.echo")", kMixed, true},
    {"a glob ends at the name's end", {anywhere("test.p?ng")}, R"("test.pings")", kMixed, false},
    {"a regular expression", {anywhere("(test|grains)\\.\\w+")}, R"("grains.items")", kMixed, true},
    {"a regular expression is no start", {anywhere("(test|grains)\\.")}, R"("test.ping")", kMixed, false},
    {"everything", {anywhere(".*")}, R"("cmd.run")", kMixed, true},
    {"another function", {anywhere("test.*")}, R"("cmd.run")", kMixed, false},
    {"no rules at all", {}, R"("test.ping")", kMixed, false},

    {"a target that holds all minions", {on("web*", {{"test.ping", {}}})}, R"("test.ping")", kWeb, true},
    {"a target that holds only some", {on("web*", {{"test.ping", {}}})}, R"("test.ping")", kMixed, false},
    {"two targets that hold all only together",
     {on("web*", {{"test.ping", {}}}), on("db*", {{"test.ping", {}}})},
     R"("test.ping")",
     kMixed,
     false},
    {"another function on a target", {on("web*", {{"test.ping", {}}})}, R"("cmd.run")", kWeb, false},
    {"a target without functions", {on("web*")}, R"("test.ping")", kWeb, false},
    {"a target that reaches no minion", {on("web*", {{"test.ping", {}}})}, R"("test.ping")", {}, false},
    {"any target that reaches no minion", {on("*", {{".*", {}}})}, R"("test.ping")", {}, false},

    {"no function", {anywhere(".*")}, "[]", kWeb, false},
    {"each of a list", {anywhere("test.*")}, R"(["test.ping", "test.echo"])", kWeb, true},
    {"a forbidden one first", {anywhere("test.*")}, R"(["cmd.run", "test.ping", "test.echo"])", kWeb, false},
    {"a forbidden one between",
     {anywhere("test.*")},
     R"(["test.ping", "cmd.run", "test.echo"])",
     kWeb,
     false},
    {"a forbidden one last", {anywhere("test.*")}, R"(["test.ping", "test.echo", "cmd.run"])", kWeb, false},
    {"a list that two rules allow together",
     {anywhere("test.ping"), on("web*", {{"cmd.run", {}}})},
     R"(["cmd.run", "test.ping"])",
     kWeb,
     true},
    {"a list of which one may not run there",
     {anywhere("test.ping"), on("db*", {{"cmd.run", {}}})},
     R"(["cmd.run", "test.ping"])",
     kWeb,
     false},
    {"functions that call others need their own names",
     {anywhere("test.*")},
     R"({"fun": "module.run", "arg": ["test.ping"]})",
     kWeb,
     false},

    {"the question for a job, without a rule", {}, R"("saltutil.find_job")", kWeb, false},
    {"the question for a job, with a rule",
     {anywhere("saltutil.find_job")},
     R"("saltutil.find_job")",
     kWeb,
     true},

    {"a runner's rule is for no minion", {on("@runner"), on("@test")}, R"("test.ping")", kWeb, false},
    {"nor is one with functions",
     {on("@runner", {{".*", {}}}), on("@jobs", {{".*", {}}})},
     R"("test.ping")",
     kWeb,
     false},
};

}  // namespace

TEST_CASE("functions on minions are allowed as Salt's grammar says") {
  for (const Vector& vector : kVectors) {
    CAPTURE(vector.about);
    CHECK(AclFixture::of_fred(vector.rules).local(vector.calls, vector.minions) == vector.allowed);
  }
}

TEST_CASE("a user has the rules of their name, and others have not") {
  const AclFixture acl({{"fred", {anywhere("test.ping")}}, {"gene", {anywhere("test.echo")}}});
  CHECK(acl.local(R"("test.ping")", kWeb, "fred"));
  CHECK_FALSE(acl.local(R"("test.echo")", kWeb, "fred"));
  CHECK_FALSE(acl.local(R"("test.ping")", kWeb, "freddy"));
  CHECK_FALSE(acl.local(R"("test.ping")", kWeb, "Fred"));
}

TEST_CASE("names of users are no patterns, neither those in the rules nor those that log in") {
  const AclFixture acl({{"ops-*", {anywhere("cmd.run")}},
                        {"j.doe", {anywhere("cmd.run")}},
                        {"DOMAIN\\x", {anywhere("cmd.run")}}});
  for (const std::string user : {"ops-1", "jxdoe", "*", ".*", "j.do?", "[j].doe"}) {
    CAPTURE(user);
    CHECK_FALSE(acl.local(R"("cmd.run")", kWeb, user));
  }
  for (const std::string user : {"ops-*", "j.doe", "DOMAIN\\x"}) CHECK(acl.local(R"("cmd.run")", kWeb, user));
}

TEST_CASE("the star is for users that nothing else names") {
  const AclFixture acl({{"*", {anywhere("test.ping")}}, {"fred", {anywhere("test.echo")}}, {"none", {}}});
  CHECK(acl.local(R"("test.ping")", kWeb, "gene"));
  CHECK(acl.local(R"("test.ping")", kWeb, "*"));
  CHECK_FALSE(acl.local(R"("test.ping")", kWeb, "fred"));
  CHECK_FALSE(acl.local(R"("test.ping")", kWeb, "none"));
}

TEST_CASE("a user has the rules of each of their groups, besides those of their name or of the star") {
  const AclFixture acl({{"ops%", {anywhere("cmd.run")}},
                        {"dev%", {anywhere("test.echo")}},
                        {"fred", {anywhere("test.ping")}},
                        {"*", {anywhere("test.arg")}}});
  CHECK(acl.local(R"(["cmd.run", "test.echo", "test.ping"])", kWeb, "fred", {"ops", "dev"}));
  CHECK_FALSE(acl.local(R"("test.arg")", kWeb, "fred", {"ops"}));
  CHECK(acl.local(R"(["cmd.run", "test.arg"])", kWeb, "gene", {"ops"}));
  CHECK_FALSE(acl.local(R"("cmd.run")", kWeb, "gene", {"operators"}));
  CHECK_FALSE(acl.local(R"("cmd.run")", kWeb, "ops%"));
  CHECK_FALSE(acl.local(R"("cmd.run")", kWeb, "ops"));
}

TEST_CASE("rules count only for users of their own back end") {
  const auto acl = AclFixture::of_eauths({{"file", {}, {{"fred", {anywhere(".*"), on("@runner")}}}},
                                          {"auto", {}, {{"fred", {anywhere("test.ping")}}}}});
  CHECK(acl.local(R"("test.ping")"));
  CHECK_FALSE(acl.local(R"("cmd.run")"));
  CHECK_FALSE(acl.runner(R"("jobs.active")"));
  CHECK_FALSE(AclFixture::of_eauths({}).local(R"("test.ping")"));
}

TEST_CASE("a pattern that is none is named with its place") {
  const auto permissions = Permissions::make({{"file", {}, {{"fred", {on("web*", {{"test.(ping", {}}})}}}}});
  REQUIRE_FALSE(permissions);
  CHECK(permissions.error().kind == ErrorKind::configuration);
  CHECK(
      permissions.error().message.starts_with("external_auth: file: fred: \"test.(ping\" is neither an exact "
                                              "name, nor a glob, nor a regular expression: "));
}

TEST_CASE("rules with a pattern that is none can be dropped, and their users stay") {
  std::vector<EauthOptions> rules = {
      {"file", {}, {{"fred", {anywhere("test.(ping"), anywhere("test.*")}}, {"*", {anywhere(".*")}}}},
      {"pam", {}, {{"eve", {on("web*", {{"cmd.*", {{{"(x"}, {}}}}})}}, {"*", {anywhere(".*")}}}}};
  rules[0].principals[0].rules[0].where = "master:7";
  const std::vector<std::string> dropped = drop_bad_rules(rules);
  REQUIRE(dropped.size() == 2);
  CHECK(dropped[0].starts_with("master:7: external_auth: file: fred: \"test.(ping\" is neither"));
  CHECK(dropped[1].starts_with("external_auth: pam: eve: \"(x\" is neither"));
  CHECK(rules[0].principals[0].rules.size() == 1);
  CHECK(rules[1].principals[0].rules.empty());
  CHECK(drop_bad_rules(rules).empty());
  const auto permissions = Permissions::make(rules);
  REQUIRE(permissions);
  CHECK((*permissions)
            ->explain_local({"pam", "eve"}, {"cmd.run", {}, {}}, [](std::string_view) { return true; })
            .empty());
}

TEST_CASE("a condition's pattern that is none is named, too") {
  for (const ArgumentCondition& condition :
       {ArgumentCondition{{"(x"}, {}}, ArgumentCondition{{}, {{"key", "(x"}}}}) {
    const auto permissions =
        Permissions::make({{"file", {}, {{"fred", {on("@jobs", {{".*", {condition}}})}}}}});
    REQUIRE_FALSE(permissions);
    CHECK(permissions.error().message.find("\"(x\" is neither") != std::string::npos);
  }
}

}  // namespace rest_fcgi::auth

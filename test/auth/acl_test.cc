// SPDX-License-Identifier: MIT
#include "auth/acl.h"

#include <optional>

#include <doctest/doctest.h>

#include "acl_fixture.h"
#include "rest_fcgi/auth/permissions.h"

namespace rest_fcgi::auth {
namespace {

AclFixture under(std::vector<ArgumentCondition> conditions) {
  return AclFixture::of_fred({on("*", {{"cmd.run", std::move(conditions)}})});
}

bool allows(const AclFixture& acl, const std::string& args, const std::string& kwargs = "{}") {
  return acl.local(R"({"fun": "cmd.run", "arg": )" + args + R"(, "kwarg": )" + kwargs + "}");
}

struct Vector {
  std::string about;
  std::vector<Rule> rules;
  Form form;
  const char* call;
  bool allowed;
};

constexpr Form kRunner = Form::runner;
constexpr Form kWheel = Form::wheel;

const Vector kVectors[] = {
    {"all runners", {on("@runner")}, kRunner, R"("manage.up")", true},
    {"all runners, in the plural", {on("@runners")}, kRunner, R"("manage.up")", true},
    {"all wheels", {on("@wheel")}, kWheel, R"("key.list_all")", true},
    {"runners are no wheels", {on("@runner"), on("@runners")}, kWheel, R"("key.list_all")", false},
    {"wheels are no runners", {on("@wheel"), on("@wheels")}, kRunner, R"("manage.up")", false},
    {"one module", {on("@jobs")}, kRunner, R"("jobs.active")", true},
    {"one module, another one called", {on("@jobs")}, kRunner, R"("manage.up")", false},
    {"a module is a module of wheels, too", {on("@key")}, kWheel, R"("key.list_all")", true},
    {"a module's name is whole", {on("@job")}, kRunner, R"("jobs.active")", false},
    {"an unknown scope", {on("@"), on("@runnerss"), on("@*")}, kRunner, R"("manage.up")", false},

    {"a runner's full name", {on("@runner", {{"manage.up", {}}})}, kRunner, R"("manage.up")", true},
    {"the same, without the module", {on("@runner", {{"up", {}}})}, kRunner, R"("manage.up")", false},
    {"a function of all wheels", {on("@wheel", {{"key.list.*", {}}})}, kWheel, R"("key.list_all")", true},
    {"a function of a module", {on("@jobs", {{"active", {}}})}, kRunner, R"("jobs.active")", true},
    {"the same, with the module", {on("@jobs", {{"jobs.active", {}}})}, kRunner, R"("jobs.active")", false},

    {"conditions on arguments",
     {on("@jobs", {{"lookup_jid", {{{"2.*"}, {}}}}})},
     kRunner,
     R"({"fun": "jobs.lookup_jid", "arg": ["2024"]})",
     true},

    {"rules for minions", {anywhere(".*"), on("*", {{".*", {}}})}, kRunner, R"("manage.up")", false},
    {"a name without a dot", {on("@runner"), on("@manage")}, kRunner, R"("manage")", false},
    {"a name with two dots", {on("@runner"), on("@manage")}, kRunner, R"("manage.up.x")", false},
    {"no name", {on("@runner")}, kRunner, R"("")", false},
};

using Names = AclFixture::Names;

const Names kWeb = {"web1", "web2"};
const Names kMixed = {"web1", "db1"};

struct CallVector {
  std::string about;
  std::vector<Rule> rules;
  const char* calls;
  Names minions;
  bool allowed;
};

constexpr const char* kList = R"(["cmd.run", "test.ping"])";
constexpr const char* kModuleRun = R"({"fun": "module.run", "arg": ["test.ping"]})";

const CallVector kCallVectors[] = {
    {"an exact name", {anywhere("test.ping")}, R"("test.ping")", kMixed, true},
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
    {"a forbidden one last", {anywhere("test.*")}, R"(["test.ping", "test.echo", "cmd.run"])", kWeb, false},
    {"two rules", {anywhere("test.ping"), on("web*", {{"cmd.run", {}}})}, kList, kWeb, true},
    {"a rule for other minions", {anywhere("test.ping"), on("db*", {{"cmd.run", {}}})}, kList, kWeb, false},
    {"a function that calls another one", {anywhere("test.*")}, kModuleRun, kWeb, false},

    {"a runner's rule is for no minion", {on("@runner"), on("@test")}, R"("test.ping")", kWeb, false},
};

}  // namespace

TEST_CASE("a rule allows the arguments that one of its conditions names, with values that match as a whole") {
  struct Row {
    std::vector<ArgumentCondition> conditions;
    const char* args;
    const char* kwargs;
    bool allowed;
  };
  const ArgumentCondition whole{{"ls|id"}, {}};
  const ArgumentCondition any_value{{std::nullopt, "x"}, {}};
  const ArgumentCondition keywords{{}, {{"cwd", "/srv(/.*)?"}, {"runas", std::nullopt}}};
  const ArgumentCondition digits{{"[0-9]+"}, {}};
  const Row rows[] = {
      {{whole}, R"(["id"])", "{}", true},
      {{whole}, R"(["id; reboot"])", "{}", false},
      {{whole}, R"(["id\n"])", "{}", false},
      {{whole}, R"(["sudo id"])", "{}", false},
      {{any_value}, R"([{"a": 1}, "x"])", "{}", true},
      {{any_value}, R"(["two\nlines", "x"])", "{}", true},
      {{any_value}, R"(["x"])", "{}", false},
      {{any_value}, R"(["x", "y"])", "{}", false},
      {{{{std::nullopt}, {}}}, "[]", "{}", false},
      {{keywords}, "[]", R"({"cwd": "/srv", "runas": "www"})", true},
      {{keywords}, "[]", R"({"cwd": "/srv/x", "runas": null})", true},
      {{keywords}, "[]", R"({"cwd": "/srv"})", false},
      {{keywords}, "[]", R"({"cwd": "/etc", "runas": "www"})", false},
      {{keywords}, R"(["/srv", "www"])", "{}", false},
      // Python's str() decides the text with which an argument is compared.
      {{{{"True"}, {}}}, "[true]", "{}", true},
      {{{{"None"}, {}}}, "[null]", "{}", true},
      {{digits}, "[15]", "{}", true},
      {{digits}, "[15.5]", "{}", false},
      {{{{"\\['a', 1\\]"}, {}}}, R"([["a", 1]])", "{}", true},
      {{{{"ls"}, {}}, {{"id"}, {}}}, R"(["ls"])", "{}", true},
      {{{{"ls"}, {}}, {{"id"}, {}}}, R"(["id"])", "{}", true},
      {{{{"ls"}, {}}, {{"id"}, {}}}, R"(["ps"])", "{}", false},
      {{}, R"(["anything"])", "{}", true},
      {{ArgumentCondition{}}, R"(["anything"])", "{}", true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.args);
    CAPTURE(row.kwargs);
    CHECK(allows(under(row.conditions), row.args, row.kwargs) == row.allowed);
  }
}

TEST_CASE("an argument that a condition does not name is refused, unless it allows others") {
  const ArgumentCondition args{{"ls"}, {}};
  const ArgumentCondition kwargs{{}, {{"cwd", "/srv"}}};
  const ArgumentCondition both{{"ls"}, {{"cwd", "/srv"}}};
  const ArgumentCondition none;
  const auto open = [](ArgumentCondition condition) {
    condition.others = true;
    return condition;
  };
  struct Row {
    ArgumentCondition condition;
    const char* args;
    const char* kwargs;
    bool allowed;
  };
  const Row rows[] = {
      {args, R"(["ls"])", "{}", true},
      {args, R"(["ls", "/"])", "{}", false},
      {args, R"(["ls", null])", "{}", false},
      {args, R"(["ls"])", R"({"env": {"BASH_ENV": "/tmp/x"}})", false},
      {args, R"(["ls"])", R"({"shell": null})", false},
      {args, R"(["ls"])", R"({"": ""})", false},
      {args, R"(["ls"])", R"({"__kwarg__": true})", false},
      {args, "[]", R"({"cmd": "ls"})", false},
      {kwargs, "[]", R"({"cwd": "/srv"})", true},
      {kwargs, R"(["ls"])", R"({"cwd": "/srv"})", false},
      {kwargs, "[]", R"({"cwd": "/srv", "cmd": "ls"})", false},
      {both, R"(["ls"])", R"({"cwd": "/srv"})", true},
      {both, R"(["ls"])", R"({"cwd": "/"})", false},
      {both, R"(["id"])", R"({"cwd": "/srv"})", false},
      {both, R"(["ls", "/srv"])", R"({"cwd": "/srv"})", false},
      {both, R"(["ls"])", R"({"cwd": "/srv", "CWD": "/"})", false},
      {none, R"(["ls", "/"])", R"({"env": {}})", true},
      {open(args), R"(["ls", "/"])", R"({"env": {}})", true},
      {open(args), R"(["id", "/"])", R"({"env": {}})", false},
      {open(args), "[]", R"({"env": {}})", false},
      {open(kwargs), R"(["ls"])", R"({"cwd": "/srv", "env": {}})", true},
      {open(kwargs), R"(["ls"])", R"({"cwd": "/", "env": {}})", false},
      {open(both), R"(["ls", "x"])", R"({"cwd": "/srv", "env": {}})", true},
      {open(both), R"(["ls", "x"])", R"({"env": {}})", false},
      {open(none), R"(["ls", "x"])", R"({"env": {}})", true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.args);
    CAPTURE(row.kwargs);
    CHECK(allows(under({row.condition}), row.args, row.kwargs) == row.allowed);
  }
}

TEST_CASE("a rule has to allow both the sent and the received arguments, and a keyword each time it comes") {
  JsonDocument document;
  REQUIRE(document.parse(R"(["ls", "l=1"])"));
  auto values = document.root().elements().begin();
  const std::vector<JsonValue> good{*values};
  const std::vector<JsonValue> text{*++values};
  const auto kind = [](const ArgumentCondition& condition, const CallArguments& sent,
                       const std::optional<CallArguments>& received = std::nullopt) {
    const auto permissions =
        *Permissions::make({{"pam", {}, {{"fred", {on("*", {{"cmd.run", {condition}}})}}}}});
    const auto all = [](std::string_view) { return true; };
    return permissions->explain_local({"pam", "fred"}, {"cmd.run", sent, received}, all).at(0).kind;
  };
  const ArgumentCondition list{{"l.*"}, {}};
  const std::vector<JsonMember> keyword{{"l", text.front()}};
  CHECK(kind(list, {good, {}}) == Finding::Kind::allows);
  CHECK(kind(list, {text, {}}, CallArguments{good, {}}) == Finding::Kind::allows);
  CHECK(kind(list, {text, {}}, CallArguments{{}, keyword}) == Finding::Kind::other_arguments);
  CHECK(kind(list, {{}, keyword}, CallArguments{good, {}}) == Finding::Kind::other_arguments);
  const ArgumentCondition only_ls{{}, {{"cmd", "ls"}}};
  const JsonMember ls{"cmd", good.front()};
  const JsonMember other{"cmd", text.front()};
  const auto kind_of = [&](const std::vector<JsonMember>& twice) { return kind(only_ls, {{}, twice}); };
  CHECK(kind_of({ls, ls}) == Finding::Kind::allows);
  CHECK(kind_of({ls, other}) == Finding::Kind::other_arguments);
  CHECK(kind_of({other, ls}) == Finding::Kind::other_arguments);
}

TEST_CASE("each function of a list is compared with its own arguments") {
  const auto acl = under({{{"ls"}, {}}});
  CHECK(acl.local(R"([{"fun": "cmd.run", "arg": ["ls"]}, {"fun": "cmd.run", "arg": ["ls"]}])"));
  CHECK_FALSE(acl.local(R"([{"fun": "cmd.run", "arg": ["ls"]}, {"fun": "cmd.run", "arg": ["ls", "x"]}])"));
  CHECK_FALSE(acl.local(R"([{"fun": "cmd.run", "arg": ["ls"]}, {"fun": "cmd.run", "arg": ["reboot"]}])"));
  CHECK_FALSE(acl.local(R"([{"fun": "cmd.run", "arg": ["reboot"]}, {"fun": "cmd.run", "arg": ["ls"]}])"));
}

TEST_CASE("runners, wheels and functions on minions are allowed by Salt's grammar") {
  for (const Vector& vector : kVectors) {
    CAPTURE(vector.about);
    CHECK(AclFixture::of_fred(vector.rules).master(vector.form, vector.call) == vector.allowed);
  }
  for (const CallVector& vector : kCallVectors) {
    CAPTURE(vector.about);
    CHECK(AclFixture::of_fred(vector.rules).local(vector.calls, vector.minions) == vector.allowed);
  }
}

TEST_CASE("names in rules and names of users are not patterns") {
  const AclFixture acl({{"ops-*", {anywhere("cmd.run")}},
                        {"j.doe", {anywhere("cmd.run")}},
                        {"DOMAIN\\x", {anywhere("cmd.run")}}});
  for (const std::string user : {"ops-1", "jxdoe", "*", ".*", "j.do?", "[j].doe", "J.doe", "j.doe2"}) {
    CAPTURE(user);
    CHECK_FALSE(acl.local(R"("cmd.run")", kWeb, user));
  }
  for (const std::string user : {"ops-*", "j.doe", "DOMAIN\\x"}) CHECK(acl.local(R"("cmd.run")", kWeb, user));
}

TEST_CASE("a name that Salt takes for a pattern of another name has neither its rules nor those of *") {
  const AclFixture acl({{"fred", {anywhere("test.echo")}},
                        {"j.doe", {anywhere("test.echo")}},
                        {"x[1]", {anywhere("test.echo")}},
                        {"a+b", {anywhere("test.echo")}},
                        {"*", {anywhere("test.ping")}}});
  for (const std::string user :
       {"fre?", "f.ed", "[f]red", "(?i)fred", "fred|eve", "x|", "*", ".*", "j?doe"}) {
    CAPTURE(user);
    CHECK_FALSE(acl.local(R"("test.echo")", kWeb, user));
    CHECK_FALSE(acl.local(R"("test.ping")", kWeb, user));
  }
  for (const std::string user : {"j.doe", "a+b"}) CHECK(acl.local(R"("test.echo")", kWeb, user));
  CHECK_FALSE(acl.local(R"("test.echo")", kWeb, "x[1]"));
  for (const std::string user : {"f.red", "a.b.c", "aab", "x[1]"})
    CHECK(acl.local(R"("test.ping")", kWeb, user));
}

TEST_CASE("a name with a domain has the rules of *, unless it may match another name as a pattern") {
  const AclFixture acl(
      {{"DOM\\anna", {anywhere("test.echo")}}, {"fred", {}}, {"*", {anywhere("test.ping")}}});
  for (const std::string user : {"DOM\\eve", "DOM\\dave", "DOM\\\\x", "OTHER\\bob", "OTHER\\x41"}) {
    CAPTURE(user);
    CHECK(acl.local(R"("test.ping")", kWeb, user));
  }
  for (const std::string user : {"DOM\\x5canna", "DOM\\Wanna", "(DOM|x)", "DOM\\bob"}) {
    CAPTURE(user);
    CHECK_FALSE(acl.local(R"("test.ping")", kWeb, user));
    CHECK_FALSE(acl.local(R"("test.echo")", kWeb, user));
  }
  CHECK(acl.local(R"("test.echo")", kWeb, "DOM\\anna"));
}

TEST_CASE("the rules of * are for users without an entry, and all rules only for their own back end") {
  const AclFixture acl({{"*", {anywhere("test.ping")}}, {"fred", {anywhere("test.echo")}}, {"none", {}}});
  CHECK(acl.local(R"("test.ping")", kWeb, "gene"));
  CHECK_FALSE(acl.local(R"("test.ping")", kWeb, "*"));
  CHECK_FALSE(acl.local(R"("test.ping")", kWeb, "fred"));
  CHECK_FALSE(acl.local(R"("test.ping")", kWeb, "none"));
  const auto two = AclFixture::of_eauths({{"file", {}, {{"fred", {anywhere(".*"), on("@runner")}}}},
                                          {"auto", {}, {{"fred", {anywhere("test.ping")}}}}});
  CHECK(two.local(R"("test.ping")"));
  CHECK_FALSE(two.local(R"("cmd.run")"));
  CHECK_FALSE(two.runner(R"("jobs.active")"));
  CHECK_FALSE(AclFixture::of_eauths({}).local(R"("test.ping")"));
}

TEST_CASE("a user has the rules of all groups, besides those of the name or of *") {
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

TEST_CASE("a malformed pattern is an error with its place; such rules can be dropped, and their users stay") {
  std::vector<EauthOptions> rules = {
      {"file", {}, {{"fred", {anywhere("test.(ping"), anywhere("test.*")}}, {"*", {anywhere(".*")}}}},
      {"pam", {}, {{"eve", {on("web*", {{"cmd.*", {{{"(x"}, {}}}}})}}, {"*", {anywhere(".*")}}}}};
  const Error malformed = Permissions::make(rules).error();
  CHECK(malformed.kind == ErrorKind::configuration);
  CHECK(malformed.message.starts_with(
      "external_auth: file: fred: \"test.(ping\" is neither an exact name nor a regular expression: "));
  rules[0].principals[0].rules[0].where = "master:7";
  const std::vector<std::string> dropped = drop_bad_rules(rules);
  REQUIRE(dropped.size() == 2);
  CHECK(dropped[0].starts_with("master:7: external_auth: file: fred: \"test.(ping\" is neither"));
  CHECK(dropped[1].starts_with("external_auth: pam: eve: \"(x\" is neither"));
  CHECK(rules[0].principals[0].rules.size() == 1);
  CHECK(rules[1].principals[0].rules.empty());
  CHECK(drop_bad_rules(rules).empty());
  const auto permissions = *Permissions::make(rules);
  CHECK(permissions->explain_local({"pam", "eve"}, {"cmd.run", {}}, [](std::string_view) { return true; })
            .empty());
}

TEST_CASE("shown has the rules of the user, of * and of the groups: texts in order, then maps") {
  const auto permissions =
      *Permissions::make({{"pam",
                           {},
                           {{"fred",
                             {anywhere("test.ping"), on("@runner"), on("ms-0", {{"test.echo", {}}}),
                              anywhere("test.ping"), anywhere("a.b")}},
                            {"*", {anywhere("sys.doc"), on("@runner")}},
                            {"ops%", {on("@jobs", {{"list_jobs", {}}})}},
                            {"other%", {anywhere("cmd.run")}},
                            {"ann", {anywhere("cmd.run")}}}},
                          {"file", {}, {{"fred", {anywhere("cmd.run")}}}}});
  const std::vector<std::string> groups{"ops"};
  CHECK(permissions->shown({"pam", "fred", groups}).text() ==
        R"(["@runner", "a.b", "sys.doc", "test.ping", {"@jobs": ["list_jobs"]}, {"ms-0": ["test.echo"]}])");
  CHECK(permissions->shown({"pam", "eve"}).text() == R"(["@runner", "sys.doc"])");
  CHECK(permissions->shown({"ldap", "fred"}).text() == "{}");
}

TEST_CASE("shown has the conditions of a rule as they are written") {
  const auto permissions = *Permissions::make(
      {{"pam",
        {},
        {{"fred",
          {{"", {{"test.arg", {{{"a", std::nullopt}, {{"b", "c"}}}}}}},
           on("web*",
              {{"test.ping", {}}, {"cmd.run", {{{"ls"}, {}}, {{}, {{"cwd", std::nullopt}}, true}}}})}}}}});
  CHECK(
      permissions->shown({"pam", "fred"}).text() ==
      R"([{"test.arg": [{"args": ["a", null], "kwargs": {"b": "c"}}]}, )"
      R"({"web*": ["test.ping", {"cmd.run": [{"args": ["ls"]}, {"kwargs": {"cwd": null}, "others": true}]}]}])");
}

TEST_CASE("event_scope follows from the user's permissions, and only @metrics allows the metrics") {
  const auto scope = [](std::vector<Rule> rules) {
    const auto permissions = *Permissions::make({{"pam", {}, {{"fred", std::move(rules)}}}});
    CHECK(permissions->event_scope({"file", "fred"}) == EventScope::nothing);
    CHECK(permissions->event_scope({"pam", "anna"}) == EventScope::nothing);
    return permissions->event_scope({"pam", "fred"});
  };
  CHECK(scope({}) == EventScope::nothing);
  CHECK(scope({on("@events")}) == EventScope::all);
  CHECK(scope({anywhere("test.ping")}) == EventScope::own);
  CHECK(scope({on("@runner")}) == EventScope::own);
  CHECK(scope({anywhere(".*")}) == EventScope::own);
  for (const char* runner : {"@runner", "@runners"}) {
    CHECK(scope({anywhere(".*"), on(runner)}) == EventScope::all);
    CHECK(scope({anywhere(".*"), on(runner, {{".*", {}}})}) == EventScope::all);
    CHECK(scope({anywhere(".*"), on(runner, {{"jobs.*", {}}})}) == EventScope::own);
    CHECK(scope({on("web*", {{".*", {}}}), on(runner)}) == EventScope::own);
  }
  const FunctionRule limited{".*", {ArgumentCondition{}}};
  CHECK(scope({Rule{"", {limited}}, on("@runner")}) == EventScope::own);
  CHECK(scope({anywhere(".*"), on("@wheel")}) == EventScope::own);
  const auto metrics = *Permissions::make(
      {{"pam",
        {},
        {{"prometheus", {on("@metrics")}}, {"fred", {anywhere(".*"), on("@runner"), on("@wheel")}}}}});
  CHECK(metrics->can_read_metrics({"pam", "prometheus"}));
  CHECK_FALSE(metrics->can_read_metrics({"file", "prometheus"}));
  CHECK_FALSE(metrics->can_read_metrics({"pam", "fred"}));
}

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "acl_fixture.h"

namespace rest_fcgi::auth {
namespace {

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
    {"all wheels, in the plural", {on("@wheels")}, kWheel, R"("key.list_all")", true},
    {"runners are no wheels", {on("@runner"), on("@runners")}, kWheel, R"("key.list_all")", false},
    {"wheels are no runners", {on("@wheel"), on("@wheels")}, kRunner, R"("manage.up")", false},
    {"one module", {on("@jobs")}, kRunner, R"("jobs.active")", true},
    {"one module, another one called", {on("@jobs")}, kRunner, R"("manage.up")", false},
    {"a module is a module of wheels, too", {on("@key")}, kWheel, R"("key.list_all")", true},
    {"a module's name is whole", {on("@job")}, kRunner, R"("jobs.active")", false},
    {"an unknown scope", {on("@"), on("@runnerss"), on("@*")}, kRunner, R"("manage.up")", false},

    {"a function of all runners, by its full name",
     {on("@runner", {{"manage.up", {}}})},
     kRunner,
     R"("manage.up")",
     true},
    {"the same, in the plural", {on("@runners", {{"manage.*", {}}})}, kRunner, R"("manage.up")", true},
    {"the same, without the module", {on("@runner", {{"up", {}}})}, kRunner, R"("manage.up")", false},
    {"another function", {on("@runner", {{"manage.up", {}}})}, kRunner, R"("manage.down")", false},
    {"a function of all wheels", {on("@wheel", {{"key.list.*", {}}})}, kWheel, R"("key.list_all")", true},
    {"a function of a module, by its own name",
     {on("@jobs", {{"active", {}}})},
     kRunner,
     R"("jobs.active")",
     true},
    {"the same, with the module", {on("@jobs", {{"jobs.active", {}}})}, kRunner, R"("jobs.active")", false},
    {"another function of a module", {on("@jobs", {{"active", {}}})}, kRunner, R"("jobs.list_jobs")", false},
    {"one of several rules",
     {on("@manage"), on("@jobs", {{"active", {}}})},
     kRunner,
     R"("jobs.active")",
     true},

    {"conditions on arguments",
     {on("@jobs", {{"lookup_jid", {{{"2.*"}, {}}}}})},
     kRunner,
     R"({"fun": "jobs.lookup_jid", "arg": ["2024"]})",
     true},
    {"conditions on arguments that do not hold",
     {on("@jobs", {{"lookup_jid", {{{"2.*"}, {}}}}})},
     kRunner,
     R"({"fun": "jobs.lookup_jid", "arg": ["1"]})",
     false},
    {"conditions on keyword arguments",
     {on("@runner", {{"jobs.lookup_jid", {{{}, {{"jid", "2.*"}}}}}})},
     kRunner,
     R"({"fun": "jobs.lookup_jid", "kwarg": {"jid": "2024"}})",
     true},
    {"conditions on keyword arguments that do not hold",
     {on("@runner", {{"jobs.lookup_jid", {{{}, {{"jid", "2.*"}}}}}})},
     kRunner,
     R"({"fun": "jobs.lookup_jid", "arg": ["2024"]})",
     false},

    {"no rules at all", {}, kRunner, R"("manage.up")", false},
    {"rules for minions",
     {anywhere(".*"), anywhere("*"), on("*", {{".*", {}}})},
     kRunner,
     R"("manage.up")",
     false},
    {"a name without a dot", {on("@runner"), on("@manage")}, kRunner, R"("manage")", false},
    {"a name with two dots", {on("@runner"), on("@manage")}, kRunner, R"("manage.up.x")", false},
    {"a name that is a dot", {on("@manage")}, kRunner, R"(".")", false},
    {"no name", {on("@runner")}, kRunner, R"("")", false},
};

}  // namespace

TEST_CASE("runners and wheels are allowed as Salt's grammar says") {
  for (const Vector& vector : kVectors) {
    CAPTURE(vector.about);
    CHECK(AclFixture::of_fred(vector.rules).master(vector.form, vector.call) == vector.allowed);
  }
}

TEST_CASE("rules for runners are those of the user, as for minions") {
  const AclFixture acl({{"fred", {on("@jobs")}}, {"*", {on("@manage")}}});
  CHECK(acl.master(Form::runner, R"("jobs.active")", "fred"));
  CHECK_FALSE(acl.master(Form::runner, R"("manage.up")", "fred"));
  CHECK(acl.master(Form::runner, R"("manage.up")", "gene"));
}

}  // namespace rest_fcgi::auth

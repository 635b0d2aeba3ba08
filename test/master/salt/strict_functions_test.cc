// SPDX-License-Identifier: MIT
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "calls/fixtures.h"
#include "master/salt/salt_master.h"
#include "rest_fcgi/core/format.h"

using namespace rest_fcgi;

namespace {

auth::Rule any_minion(std::string function) {
  return {"", {{std::move(function), {}}}};
}

std::unique_ptr<auth::Permissions> permissions_of(std::vector<auth::Rule> rules) {
  auto made = auth::Permissions::make({{"pam", {}, {{"ann", std::move(rules)}}}});
  REQUIRE(made);
  return *std::move(made);
}

std::unique_ptr<auth::Permissions> permissions() {
  return permissions_of(
      {any_minion("test.*"), {"web*", {{"cmd.run", {}}}}, {"G@role:db", {{"state.apply", {}}}}});
}

bool passes(const auth::Permissions& permissions, const std::string& members,
            const std::string& user = "ann") {
  const test::ReadChunk chunk(format(R"({{"client": "local", "token": "x", {}}})", members));
  const auto checked = salt::check_each_function(permissions, {"pam", user}, chunk->local());
  if (!checked) {
    CHECK(checked.error().kind == ErrorKind::authorization);
    CHECK(checked.error().message == "Authorization error occurred.");
  }
  return checked.ok();
}

bool allowed(const std::string& target, const std::string& functions, const std::string& user = "ann") {
  return passes(*permissions(), format(R"({}, "fun": {}, "arg": [[], []])", target, functions), user);
}

constexpr const char* kAll = R"("tgt": "*")";

}  // namespace

TEST_CASE("a compound call needs permission for each function, a single one is left to the master") {
  CHECK(allowed(kAll, R"(["test.ping", "test.arg"])"));
  CHECK(allowed(R"("tgt": "web1")", R"(["test.ping", "cmd.run"])"));
  CHECK_FALSE(allowed(kAll, R"(["test.ping", "cmd.run"])"));
  CHECK_FALSE(allowed(kAll, R"(["cmd.run", "test.ping"])"));
  CHECK_FALSE(allowed(kAll, R"(["saltutil.find_job", "cmd.run"])"));
  CHECK_FALSE(allowed(kAll, R"(["test.ping", "test.arg"])", "bob"));
  CHECK(passes(*permissions(), R"("tgt": "*", "fun": "cmd.run")", "nobody"));
  CHECK(passes(*permissions(), R"("tgt": "*", "fun": ["cmd.run"], "arg": [[]])", "nobody"));
  const std::string pair = R"(["test.ping", "cmd.run"])";
  CHECK(allowed(R"("tgt": "web*")", pair));
  CHECK(allowed(R"("tgt": ["web1", "web2"], "tgt_type": "list")", pair));
  CHECK_FALSE(allowed(R"("tgt": ["web1", "db1"], "tgt_type": "list")", pair));
  CHECK_FALSE(allowed(R"("tgt": "web[12]")", pair));
  CHECK_FALSE(allowed(R"("tgt": "web1", "tgt_type": "pcre")", pair));
  CHECK_FALSE(allowed(R"("tgt": "web*,db1")", pair));
  const std::string state = R"(["test.ping", "state.apply"])";
  CHECK(allowed(R"("tgt": "G@role:db", "tgt_type": "compound")", state));
  CHECK_FALSE(allowed(R"("tgt": "role:db", "tgt_type": "grain")", state));
}

TEST_CASE("a rule's glob matches as in Salt") {
  const auto some = permissions_of({any_minion("test.ping"), {"db[^0]", {{"test.echo", {}}}}});
  const auto matches = [&](const char* target) {
    return passes(*some,
                  format(R"("tgt": "{}", "fun": ["test.ping", "test.echo"], "arg": [[], []])", target));
  };
  CHECK(matches("db0"));
  CHECK_FALSE(matches("db1"));
  CHECK_FALSE(matches("db0\\u0000x"));
}

TEST_CASE("conditions on arguments apply to each function") {
  const auto some =
      permissions_of({any_minion("test.ping"), {"*", {{"cmd.run", {{{"uptime|shell=.*"}, {}}}}}}});
  const auto runs = [&](const char* arguments) {
    return passes(*some,
                  format(R"("tgt": "*", "fun": ["test.ping", "cmd.run"], "arg": [[], {}])", arguments));
  };
  CHECK(runs(R"(["uptime"])"));
  for (const char* arguments :
       {R"(["uptime", {"__kwarg__": true, "env": {"BASH_ENV": "x"}}])",
        R"([{"__kwarg__": true, "shell": "x"}, "uptime"])", R"(["uptime", "env={BASH_ENV: x}"])",
        R"(["shell=/tmp/x", "uptime"])", R"(["shell=/tmp/x"])",
        R"(["uptime", "/", null, null, null, "/tmp/x", true])"}) {
    CHECK_FALSE_MESSAGE(runs(arguments), arguments);
  }
}

TEST_CASE("a wheel's keyword arguments arg and kwarg are refused") {
  const auto checked = [](const std::string& arguments) {
    const test::ReadChunk chunk(
        format(R"({{"client": "wheel", "token": "x", "fun": "key.list", {}}})", arguments));
    return salt::check_wheel_arguments(chunk->master());
  };
  CHECK(checked(R"("arg": ["acc"])"));
  CHECK(checked(R"("kwarg": {"match": "acc"})"));
  for (const char* name : {"arg", "kwarg"}) {
    const auto refused = checked(format(R"("arg": ["pre"], "kwarg": {{"{}": ["acc"]}})", name));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ErrorKind::invocation);
  }
}

TEST_CASE("CVE-2022-22941: roster hosts need rules without a target") {
  const auto some =
      permissions_of({any_minion("test.*"), {"web*", {{"cmd.run", {}}}}, {"*", {{"cmd.run", {}}}}});
  const auto on_roster = [&](const std::string& target, const std::string& function,
                             const std::string& user) {
    const test::ReadChunk chunk(
        format(R"({{"client": "ssh", "token": "x", "tgt": "{}", "fun": "{}"}})", target, function));
    return salt::check_on_roster(*some, {"pam", user}, chunk->local()).ok();
  };
  CHECK(on_roster("web1", "test.ping", "ann"));
  CHECK(on_roster("*", "test.arg", "ann"));
  CHECK_FALSE(on_roster("web*", "cmd.run", "ann"));
  CHECK_FALSE(on_roster("*", "cmd.run", "ann"));
  CHECK_FALSE(on_roster("web1", "cmd.run", "ann"));
  CHECK_FALSE(on_roster("nosuch", "cmd.run", "ann"));
  CHECK_FALSE(on_roster("web1", "test.ping", "bob"));
}

// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "calls/chunk_fixture.h"
#include "master/salt/salt_master.h"
#include "rest_fcgi/core/format.h"

using namespace rest_fcgi;

namespace {

auth::Rule any_minion(std::string function) {
  return {"", {{std::move(function), {}}}};
}

std::unique_ptr<auth::Permissions> permissions() {
  auth::EauthOptions pam{"pam", {}, {}};
  pam.principals.push_back(
      {"ann", {any_minion("test.*"), {"web*", {{"cmd.run", {}}}}, {"G@role:db", {{"state.apply", {}}}}}});
  auto made = auth::Permissions::make({pam});
  REQUIRE(made);
  return *std::move(made);
}

bool allowed(const std::string& target, const std::string& functions, const std::string& user = "ann") {
  const test::ReadChunk chunk(
      format(R"({{"client": "local", "token": "x", {}, "fun": {}, "arg": [[], []]}})", target, functions));
  const auto checked = salt::check_each_function(*permissions(), {"pam", user}, chunk->local());
  if (!checked) {
    CHECK(checked.error().kind == ErrorKind::authorization);
    CHECK(checked.error().message == "Authorization error occurred.");
  }
  return checked.ok();
}

constexpr const char* kAll = R"("tgt": "*")";

}  // namespace

TEST_CASE("a compound call needs permission for each function") {
  CHECK(allowed(kAll, R"(["test.ping", "test.arg"])"));
  CHECK(allowed(R"("tgt": "web1")", R"(["test.ping", "cmd.run"])"));
}

TEST_CASE("one allowed function does not allow another") {
  CHECK_FALSE(allowed(kAll, R"(["test.ping", "cmd.run"])"));
  CHECK_FALSE(allowed(kAll, R"(["cmd.run", "test.ping"])"));
  CHECK_FALSE(allowed(kAll, R"(["saltutil.find_job", "cmd.run"])"));
  CHECK_FALSE(allowed(kAll, R"(["test.ping", "test.arg"])", "bob"));
}

TEST_CASE("a rule with a target applies if the target is within it") {
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
  const std::string pair = R"(["test.ping", "test.echo"])";
  auth::EauthOptions pam{"pam", {}, {}};
  pam.principals.push_back({"ann", {any_minion("test.ping"), {"db[^0]", {{"test.echo", {}}}}}});
  const auto made = auth::Permissions::make({pam});
  REQUIRE(made);
  const auto passes = [&](const std::string& target) {
    const test::ReadChunk chunk(
        format(R"({{"client": "local", "token": "x", {}, "fun": {}, "arg": [[], []]}})", target, pair));
    return salt::check_each_function(**made, {"pam", "ann"}, chunk->local()).ok();
  };
  CHECK(passes(R"("tgt": "db0")"));
  CHECK_FALSE(passes(R"("tgt": "db1")"));
  CHECK_FALSE(passes(R"("tgt": "db0\u0000x")"));
}

TEST_CASE("conditions on arguments apply to each function") {
  auth::EauthOptions pam{"pam", {}, {}};
  pam.principals.push_back(
      {"ann", {any_minion("test.ping"), {"*", {{"cmd.run", {{{"uptime|shell=.*"}, {}}}}}}}});
  const auto made = auth::Permissions::make({pam});
  REQUIRE(made);
  const auto passes = [&](const std::string& arguments) {
    const test::ReadChunk chunk(format(
        R"({{"client": "local", "token": "x", "tgt": "*", "fun": ["test.ping", "cmd.run"], "arg": [[], {}]}})",
        arguments));
    return salt::check_each_function(**made, {"pam", "ann"}, chunk->local()).ok();
  };
  CHECK(passes(R"(["uptime"])"));
  for (const char* keyword :
       {R"("env": {"BASH_ENV": "x"})", R"("shell": "x")", R"("python_shell": true)", R"("runas": "root")",
        R"("cwd": "/")", R"("template": "jinja")", R"("stdin": "x")"}) {
    CHECK_FALSE(passes(format(R"(["uptime", {{"__kwarg__": true, {}}}])", keyword)));
    CHECK_FALSE(passes(format(R"([{{"__kwarg__": true, {}}}, "uptime"])", keyword)));
  }
  for (const char* text : {"env={BASH_ENV: x}", "shell=/tmp/x", "python_shell=True", "cwd=/"}) {
    CHECK_FALSE(passes(format(R"(["uptime", "{}"])", text)));
    CHECK_FALSE(passes(format(R"(["{}", "uptime"])", text)));
    CHECK_FALSE(passes(format(R"(["{}"])", text)));
  }
  CHECK_FALSE(passes(R"(["uptime", "/", null, null, null, "/tmp/x", true])"));
}

TEST_CASE("a single function is left to the master") {
  const test::ReadChunk chunk(R"({"client": "local", "token": "x", "tgt": "*", "fun": "cmd.run"})");
  CHECK(salt::check_each_function(*permissions(), {"pam", "nobody"}, chunk->local()));
  const test::ReadChunk list(
      R"({"client": "local", "token": "x", "tgt": "*", "fun": ["cmd.run"], "arg": [[]]})");
  CHECK(salt::check_each_function(*permissions(), {"pam", "nobody"}, list->local()));
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

TEST_CASE("roster hosts need rules without a target") {
  const auto on_roster = [](const std::string& target, const std::string& function, const std::string& user) {
    const test::ReadChunk chunk(
        format(R"({{"client": "ssh", "token": "x", "tgt": "{}", "fun": "{}"}})", target, function));
    return salt::check_on_roster(*permissions(), {"pam", user}, chunk->local()).ok();
  };
  CHECK(on_roster("web1", "test.ping", "ann"));
  CHECK(on_roster("*", "test.arg", "ann"));
  CHECK_FALSE(on_roster("web*", "cmd.run", "ann"));
  CHECK_FALSE(on_roster("web1", "cmd.run", "ann"));
  CHECK_FALSE(on_roster("nosuch", "cmd.run", "ann"));
  CHECK_FALSE(on_roster("web1", "test.ping", "bob"));
}

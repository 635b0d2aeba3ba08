// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "../../support/captured_log.h"
#include "../../support/holds.h"
#include "salt_world.h"

using namespace rest_fcgi;
using test::holds;
using test::kPing;
using test::SaltWorld;

namespace {

/// Makes the master put `rights` into its tokens, as with `keep_acl_in_token`. The password `wrong` gets no
/// token.
void keep_rights(SaltWorld& world, const std::string& rights) {
  const std::string token = format(
      R"({{"token": "{:064x}", "name": "fred", "eauth": "pam", "start": 1.5, "expire": 9999999999.5, "auth_list": {}}})",
      1, rights);
  world.on("mk_token",
           [token](const std::string& load) { return holds(load, "wrong") ? std::string(R"("")") : token; });
  world.on("get_token", [token](const std::string&) { return token; });
}

auth::Credentials password_of_fred() {
  return {auth::Credentials::Kind::eauth, "pam", "fred", SecretView("secret"), {}};
}

master::Session login(SaltWorld& world) {
  auto session = world.master().login(password_of_fred(), SaltWorld::soon());
  REQUIRE(session);
  return *std::move(session);
}

constexpr const char* kTwo =
    R"("client": "local", "tgt": "*", "fun": ["test.ping", "test.echo"], "arg": [[], ["x"]])";
constexpr const char* kActiveJobs = R"("client": "runner_async", "fun": "jobs.active")";

}  // namespace

TEST_CASE("a token without permissions sends the password with each call") {
  const test::CapturedLog log;
  SaltWorld world;
  keep_rights(world, "null");
  REQUIRE(world.master().publish_async(world.permit(kPing)));
  REQUIRE(world.master().runner_async(world.permit(kActiveJobs)));
  REQUIRE(world.master().wheel(world.permit(R"("client": "wheel", "fun": "key.list_all")")));
  REQUIRE(world.master().wheel_async(world.permit(R"("client": "wheel_async", "fun": "key.list_all")")));
  REQUIRE(test::eventually([&] { return world.loads("wheel").size() == 2; }));
  for (const std::string cmd : {"publish", "runner", "wheel"}) {
    for (const std::string& load : world.loads(cmd)) {
      CHECK(holds(load, R"("password": "secret")"));
      CHECK_FALSE(holds(load, "token"));
    }
  }
  CHECK(world.loads("mk_token").size() <= 2);
  CHECK(log.has("keep_acl_in_token"));
  CHECK_FALSE(log.has("secret"));
}

TEST_CASE("a missing permission with inline credentials is no failed login") {
  const test::CapturedLog log;
  SaltWorld world({}, {}, {.tries = 1});
  keep_rights(world, "null");
  world.on("runner", [](const std::string&) {
    return R"({"error": {"name": "EauthAuthenticationError", "message": "x"}})";
  });
  for (int i = 0; i < 3; ++i) {
    const auto started = world.master().runner_async(world.permit(kActiveJobs));
    REQUIRE_FALSE(started);
    CHECK(started.error().kind == ErrorKind::authentication);
    CHECK(started.error().message == "Authorization error occurred.");
  }
  CHECK(world.refusal(kPing, "wrong").kind == ErrorKind::authentication);
}

TEST_CASE("jid is refused with inline credentials") {
  SaltWorld world;
  keep_rights(world, "null");
  const Error refused = world.refusal(format(R"({}, "jid": "20261121000000000007")", kPing));
  CHECK(refused.kind == ErrorKind::invocation);
  CHECK(holds(refused.message, "`jid`"));
}

TEST_CASE("login returns the permissions in the token") {
  const std::string rights = R"(["test.*", "@runner", {"web*": ["cmd.run"]}])";
  SaltWorld world;
  keep_rights(world, rights);
  const auto session = login(world);
  CHECK(session.perms.text() == rights);
  CHECK(session.events == auth::EventScope::own);
  const auto held = world.master().session(session.token, SaltWorld::soon());
  REQUIRE(held);
  CHECK(held->perms.text() == rights);
  keep_rights(world, "[]");
  CHECK(login(world).perms.text() == "{}");
}

TEST_CASE("salt#62022: each function of a list needs a permission in the token") {
  SaltWorld both({}, {});
  keep_rights(both, R"(["test.ping", {"*": ["test.echo"]}])");
  REQUIRE(both.master().publish_async(both.permit(kTwo)));
  CHECK(holds(both.loads("publish").at(0), R"("token")"));

  SaltWorld one({}, {{"pam", {}, {{"fred", {{"", {{".*", {}}}}}}}}});
  keep_rights(one, R"(["test.ping", {"web*": ["test.echo"]}])");
  CHECK(one.refusal(kTwo).kind == ErrorKind::authorization);
}

TEST_CASE("a malformed permission in the token allows nothing") {
  for (const char* right :
       {R"("")", "1", "null", R"({})", R"({"*": []})", R"({"*": [1]})", R"({"*": ".*", "web*": ".*"})",
        R"({"*": [{"test.*": []}]})", R"({"*": [{"test.*": [{"args": "x"}]}]})", R"(".*[")",
        R"({"": [".*"]})", R"({"*": [{"test.*": [{"args": [1]}]}]})",
        R"({"*": [{"test.*": [{"unless": ["x"]}]}]})"}) {
    CAPTURE(right);
    SaltWorld world;
    keep_rights(world, format("[{}]", right));
    CHECK(world.refusal(kTwo).kind == ErrorKind::authorization);
  }
  SaltWorld world;
  keep_rights(world, R"([{"*": [{"test.*": {"args": ["x", null], "kwargs": {"a": "b"}}}, "test.ping"]}])");
  CHECK(world.refusal(kTwo).kind == ErrorKind::authorization);
}

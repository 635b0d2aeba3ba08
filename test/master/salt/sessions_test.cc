// SPDX-License-Identifier: MIT
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../../support/captured_log.h"
#include "../../support/holds.h"
#include "../session_contract.h"
#include "master/salt/salt_master.h"
#include "salt_world.h"

namespace {

using namespace rest_fcgi;
using test::holds;
using test::kPing;
using test::SaltWorld;

auth::Credentials fred(std::string_view password = "secret") {
  return {auth::Credentials::Kind::eauth, "pam", "fred", SecretView(password), {}};
}

std::string grant_of(std::string_view token) {
  return SaltWorld::grant(token, "fred", R"(, "groups": ["ops"])");
}

ErrorKind session_error(SaltWorld& world, const char* token) {
  return world.master().session(SecretView(token), SaltWorld::soon()).error().kind;
}

/// The master issues a new token for each login, accepts the token later, and writes a token file if the
/// token folder exists.
void keep_tokens(SaltWorld& world) {
  const auto made = std::make_shared<std::atomic<int>>(0);
  world.on("mk_token", [made, dir = world.token_dir()](const std::string& load) -> std::string {
    if (load.find("wrong") != std::string::npos) return R"("")";
    const std::string token = format("{:064x}", ++*made);
    if (std::filesystem::exists(dir)) std::ofstream(dir + "/" + token) << "x";
    return grant_of(token);
  });
  world.on("get_token", [made](const std::string& load) -> std::string {
    for (int i = 1; i <= *made; ++i) {
      if (const std::string token = format("{:064x}", i); load.find(token) != std::string::npos)
        return grant_of(token);
    }
    return "{}";
  });
}

}  // namespace

TEST_CASE("sessions of a real master keep the contract of Master") {
  salt::Options options;
  SUBCASE("credentials are exchanged for a token") {}
  SUBCASE("credentials are sent with each call") {
    options.inline_login = true;
  }
  SaltWorld world(options);
  keep_tokens(world);
  test::keeps_session_contract(world.master(), fred(), fred("wrong"),
                               [&](const std::string& token) -> const lowstate::Chunk& {
                                 return world.chunk_with_token(test::kPing, token);
                               });
}

TEST_CASE("a session has the permissions of user and groups") {
  SaltWorld world({}, {{"pam", {}, {{"fred", {{"", {{"test.ping", {}}}}}}, {"ops%", {{"@runner", {}}}}}}});
  keep_tokens(world);
  const auto session = world.master().login(fred(), SaltWorld::soon());
  REQUIRE(session);
  CHECK(session->perms.text() == R"(["@runner", "test.ping"])");
  CHECK(session->start == WallTime(std::chrono::milliseconds(1500)));
}

TEST_CASE("a malformed token does not reach the master, and an unknown one locks no user out") {
  SaltWorld world;
  for (const char* token : {"", "c0ffee", "../../../../etc/passwd", "c0ffee00c0ffee00c0ffee00c0ffee0g"}) {
    CHECK(session_error(world, token) == ErrorKind::authentication);
  }
  CHECK(world.loads("get_token").empty());
  for (int i = 0; i < 30; ++i) CHECK(session_error(world, SaltWorld::kToken) == ErrorKind::authentication);
  CHECK(world.loads("get_token").size() == 30);
  keep_tokens(world);
  CHECK(world.master().login(fred(), SaltWorld::soon()));
}

TEST_CASE("logout removes the token file, or logs that there is no file") {
  SaltWorld world;
  keep_tokens(world);
  bool has_files = false;
  SUBCASE("with a file") {
    has_files = true;
  }
  SUBCASE("without a file") {}
  if (has_files) std::filesystem::create_directory(world.token_dir());
  const auto session = world.master().login(fred(), SaltWorld::soon());
  REQUIRE(session);
  const std::string file = world.token_dir() + "/" + std::string(session->token.reveal().text);
  REQUIRE(std::filesystem::exists(file) == has_files);
  const test::CapturedLog log;
  CHECK(world.master().logout(session->token, SaltWorld::soon()));
  CHECK_FALSE(std::filesystem::exists(file));
  CHECK(log.text().empty() == has_files);
  CHECK(log.has("token file was not removed: No such file") != has_files);
  CHECK_FALSE(log.has(session->token.reveal().text));
}

TEST_CASE("only regular token files are removed") {
  const test::TempDir dir;
  const std::string folder = dir / "tokens";
  std::filesystem::create_directory(folder);
  dir.write("abc0", "x");
  std::filesystem::create_symlink("../abc0", folder + "/abc1");
  std::filesystem::create_directory(folder + "/abc2");
  std::ofstream(folder + "/abc3") << "x";
  for (const char* name : {"../abc0", "abc1", "abc2", "", ".", "abc4", "abc3/"}) {
    CHECK_FALSE_MESSAGE(salt::remove_token_file(folder, name), name);
  }
  CHECK(std::filesystem::exists(dir / "abc0"));
  CHECK(std::filesystem::is_symlink(folder + "/abc1"));
  CHECK(salt::remove_token_file(folder, "abc3"));
  CHECK_FALSE(std::filesystem::exists(folder + "/abc3"));
  std::ofstream(folder + "/abc5.p") << "x";
  CHECK(salt::remove_token_file(folder, "abc5"));
  CHECK_FALSE(std::filesystem::exists(folder + "/abc5.p"));
  CHECK_FALSE(salt::remove_token_file(dir / "none", "abc3"));
}

TEST_CASE("a session survives an unavailable master") {
  SaltWorld world;
  world.port().stop();
  const SecretView token(SaltWorld::kToken);
  CHECK(session_error(world, SaltWorld::kToken) == ErrorKind::unavailable);
  CHECK(world.master().logout(token, SaltWorld::soon()).error().kind == ErrorKind::unavailable);
  CHECK(world.master().login(fred(), SaltWorld::soon()).error().kind == ErrorKind::unavailable);
}

TEST_CASE("a fired event is msgpack with a _stamp") {
  SaltWorld world;
  REQUIRE(world.master().fire_event("salt/netapi/hook/x",
                                    Json::trusted(R"({"_stamp": "old", "post": {"a": 1.5}})"), nullptr,
                                    SaltWorld::soon()));
  const std::string frame = world.pull().received();
  const std::size_t end = frame.find("\n\n");
  REQUIRE(end != std::string::npos);
  CHECK(frame.substr(0, end).ends_with("salt/netapi/hook/x"));
  const auto data = salt::to_json(std::string_view(frame).substr(end + 2));
  REQUIRE(data);
  CHECK(data->text().starts_with(R"({"post": {"a": 1.5}, "_stamp": "20)"));
}

namespace {

/// The master puts `rights` into its tokens, as with `keep_acl_in_token`. The password `wrong` gets no token.
void keep_rights(SaltWorld& world, const std::string& rights) {
  const std::string token = SaltWorld::grant(SaltWorld::kToken, "fred", R"(, "auth_list": )" + rights);
  world.on("mk_token",
           [token](const std::string& load) { return holds(load, "wrong") ? std::string(R"("")") : token; });
  world.always("get_token", token);
}

master::Session login(SaltWorld& world) {
  auto session = world.master().login(world.chunk(kPing).credentials, SaltWorld::soon());
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
  REQUIRE(world.master().publish_async(world.permit()));
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
  world.refuse("runner", "EauthAuthenticationError");
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

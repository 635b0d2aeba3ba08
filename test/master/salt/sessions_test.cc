// SPDX-License-Identifier: MIT
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../../support/captured_log.h"
#include "../session_contract.h"
#include "master/salt/salt_master.h"
#include "salt_world.h"

using namespace rest_fcgi;
using test::SaltWorld;

namespace {

constexpr const char* kToken = "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00";

auth::Credentials fred(std::string_view password = "secret") {
  return {auth::Credentials::Kind::eauth, "pam", "fred", SecretView(password), {}};
}

std::string grant_of(std::string_view token) {
  return format(
      R"({{"token": "{}", "name": "fred", "eauth": "pam", "start": 1.5, "expire": 9999999999.5, "groups": ["ops"]}})",
      token);
}

/// Makes the master issue a new token for each login and accept the token later. If the token folder exists,
/// the master writes a token file.
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
  std::vector<std::unique_ptr<test::ReadChunk>> chunks;
  const auto chunk = [&](const std::string& token) -> const lowstate::Chunk& {
    chunks.push_back(std::make_unique<test::ReadChunk>(
        format(R"({{"client": "local", "tgt": "*", "fun": "test.ping", "token": "{}"}})", token)));
    return **chunks.back();
  };
  test::keeps_session_contract(world.master(), fred(), fred("wrong"), chunk);
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
    CHECK(world.master().session(SecretView(token), SaltWorld::soon()).error().kind ==
          ErrorKind::authentication);
  }
  CHECK(world.loads("get_token").empty());
  for (int i = 0; i < 30; ++i) {
    CHECK(world.master().session(SecretView(kToken), SaltWorld::soon()).error().kind ==
          ErrorKind::authentication);
  }
  CHECK(world.loads("get_token").size() == 30);
  keep_tokens(world);
  CHECK(world.master().login(fred(), SaltWorld::soon()));
}

TEST_CASE("logout removes the token file") {
  SaltWorld world;
  std::filesystem::create_directory(world.token_dir());
  keep_tokens(world);
  const auto session = world.master().login(fred(), SaltWorld::soon());
  REQUIRE(session);
  const std::string file = world.token_dir() + "/" + std::string(session->token.reveal().text);
  REQUIRE(std::filesystem::exists(file));
  const test::CapturedLog log;
  CHECK(world.master().logout(session->token, SaltWorld::soon()));
  CHECK_FALSE(std::filesystem::exists(file));
  CHECK(log.text().empty());
}

TEST_CASE("logout without removing the file is logged") {
  SaltWorld world;
  keep_tokens(world);
  const auto session = world.master().login(fred(), SaltWorld::soon());
  REQUIRE(session);
  const test::CapturedLog log;
  CHECK(world.master().logout(session->token, SaltWorld::soon()));
  CHECK(log.has(R"(a token of user "fred" was revoked)"));
  CHECK(log.has("token file was not removed: No such file"));
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
    CAPTURE(name);
    CHECK_FALSE(salt::remove_token_file(folder, name));
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
  CHECK(world.master().session(SecretView(kToken), SaltWorld::soon()).error().kind == ErrorKind::unavailable);
  CHECK(world.master().logout(SecretView(kToken), SaltWorld::soon()).error().kind == ErrorKind::unavailable);
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

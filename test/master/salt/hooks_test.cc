// SPDX-License-Identifier: MIT
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "../../support/captured_log.h"
#include "../../support/holds.h"
#include "salt_world.h"

using namespace rest_fcgi;
using test::holds;
using test::SaltWorld;

namespace {

constexpr const char* kTag = "salt/netapi/hook/x";
constexpr const char* kData = R"({"body": "a", "post": {"a": 1}, "headers": {}})";

Result<void> fire_without_right(SaltWorld& world, const master::Session* caller) {
  const std::filesystem::path folder = std::filesystem::path(world.token_dir()).parent_path();
  ::chmod(folder.c_str(), 0755);
  ::chmod((folder / "master_event_pull.ipc").c_str(), 0600);
  // The thread of the event bus starts before setfsuid(2), because a later thread would inherit the lower
  // permissions of this thread.
  world.runtime().join_event_bus();
  ::setfsuid(65534);
  auto fired = world.master().fire_event(kTag, Json::trusted(kData), caller, SaltWorld::soon());
  ::setfsuid(0);
  return fired;
}

master::Session session_of_fred() {
  return {Secret(std::string_view(SaltWorld::kToken)), {}, {}, "fred", "pam", Json::empty_object()};
}

/// The master accepts the token of the session, and every runner returns `returned`.
void run_runners(SaltWorld& world, const std::string& returned) {
  world.always("get_token", SaltWorld::grant(SaltWorld::kToken));
  world.on("runner", [&world, returned](const std::string&) {
    world.bus().send(
        format("salt/run/{}/ret", SaltWorld::kJid),
        test::packed(format(R"({{"jid": "{}", "return": {}, "success": true}})", SaltWorld::kJid, returned)));
    return SaltWorld::runner_reply();
  });
}

}  // namespace

TEST_CASE("a refused event is fired with the runner event.send") {
  if (::geteuid() != 0) return;
  SaltWorld world;
  run_runners(world, "true");
  const master::Session fred = session_of_fred();
  const auto fired = fire_without_right(world, &fred);
  CHECK_MESSAGE(fired.ok(), (fired ? std::string() : fired.error().message));
  REQUIRE(world.loads("runner").size() == 1);
  const std::string load = world.loads("runner").at(0);
  CHECK(holds(load, R"("fun": "event.send")"));
  CHECK(holds(load, format(R"("tag": "{}")", kTag)));
  CHECK(holds(load, format(R"("data": {})", kData)));
  CHECK(holds(load, "c0ffee00"));
}

TEST_CASE("the reason for a failed event is only logged") {
  if (::geteuid() != 0) return;
  const test::CapturedLog log;
  const master::Session fred = session_of_fred();
  const auto refused = [&](SaltWorld& world, const master::Session* caller) {
    const auto fired = fire_without_right(world, caller);
    REQUIRE_FALSE(fired);
    CHECK(fired.error().kind == ErrorKind::unavailable);
    CHECK(fired.error().message == "Events cannot be fired on the Salt Master's event bus now.");
    CHECK(log.has("mode 0600"));
  };
  SaltWorld no_right;
  run_runners(no_right, "true");
  no_right.refuse("runner", "TokenAuthenticationError");
  refused(no_right, &fred);
  CHECK(log.has(R"(event.send, as user "fred")"));
  SaltWorld failed;
  run_runners(failed, "false");
  refused(failed, &fred);
  SaltWorld without_session;
  refused(without_session, nullptr);
  CHECK(without_session.loads("runner").empty());
  SaltWorld away;
  away.pull().stop();
  const auto fired = away.master().fire_event(kTag, Json::trusted(kData), &fred, SaltWorld::soon());
  REQUIRE_FALSE(fired);
  CHECK_FALSE(holds(fired.error().message, "ipc"));
}

TEST_CASE("--check-config shows whether this user can connect to the event bus and fire events") {
  const test::TempDir dir;
  salt::Options options;
  options.sock_dir = dir.path().string();
  const std::string missing = ": No such file or directory; no Salt master runs";
  const std::string pub = dir / "master_event_pub.ipc";
  const std::string pull = dir / "master_event_pull.ipc";
  CHECK(salt::describe_event_bus(options).starts_with("cannot connect: " + pub + missing));
  CHECK(salt::describe_event_firing(options).starts_with("cannot be fired: " + pull + missing));
  const test::FakeEventBus bus(pub);
  const test::FakeEventPull events(pull);
  CHECK(salt::describe_event_bus(options) == "this user can connect");
  CHECK(salt::describe_event_firing(options) == "can be fired by this user");
}

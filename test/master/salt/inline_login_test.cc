// SPDX-License-Identifier: MIT
#include <chrono>
#include <future>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../../support/captured_log.h"
#include "../../support/holds.h"
#include "salt_world.h"

using namespace rest_fcgi;
using test::holds;
using test::kPing;
using test::SaltWorld;

namespace {

/// Chunks for which `admit` needs several checks, because they contain nodegroups, a list of functions, or a
/// jid.
const std::vector<std::string> kLookedUp{
    R"("client": "local", "tgt": "web", "tgt_type": "nodegroup", "fun": "test.ping")",
    R"("client": "local", "tgt": "nosuch", "tgt_type": "nodegroup", "fun": "test.ping")",
    R"("client": "local", "tgt": "* and N@nosuch", "tgt_type": "compound", "fun": "test.ping")",
    R"("client": "local", "tgt": ["*", "or", "N@nosuch"], "tgt_type": "compound", "fun": "test.ping")",
    R"("client": "local", "tgt": "*", "fun": ["test.ping", "cmd.run"], "arg": [[], ["id"]])",
    R"("client": "local", "tgt": "*", "fun": "test.ping", "jid": "20261121000000000007")"};

salt::Options inline_login() {
  salt::Options options;
  options.inline_login = true;
  options.nodegroups = {{"web", {"web*"}}};
  return options;
}

std::vector<auth::EauthOptions> ping_rules() {
  return {{"pam", {}, {{"fred", {{"", {{"test.ping", {}}}}}}}}};
}

std::string check_password(const std::string& load) {
  if (holds(load, "wrong")) return R"({"error": {"name": "AuthenticationError", "message": "x"}})";
  return R"({"enc": "clear", "load": {"jid": null, "minions": [], "error": "Master could not resolve"}})";
}

}  // namespace

TEST_CASE("inline credentials are throttled before the master is asked") {
  const test::CapturedLog log;
  SaltWorld world(inline_login(), {}, {.tries = 2});
  world.refuse("publish", "AuthenticationError");
  const master::Permit permit = world.permit();
  CHECK(world.master().publish_async(permit).error().kind == ErrorKind::authentication);
  CHECK_FALSE(world.master().publish_async(permit));
  const auto third = world.master().publish_async(permit);
  CHECK(third.error().kind == ErrorKind::throttled);
  CHECK(world.loads("publish").size() == 2);
}

TEST_CASE("with inline_login configuration is not revealed before login") {
  const test::CapturedLog log;
  for (const std::string& call : kLookedUp) {
    CAPTURE(call);
    SaltWorld world(inline_login(), ping_rules());
    world.on("publish", check_password);
    const Error refused = world.refusal(call, "wrong");
    CHECK(refused.kind == ErrorKind::authentication);
    CHECK(refused.message == "Authorization error occurred.");
    REQUIRE(world.loads("publish").size() == 1);
    const std::string load = world.loads("publish").front();
    CHECK(holds(load, R"("tgt": [], "fun": "saltutil.find_job", "arg": [], "tgt_type": "list")"));
    CHECK_FALSE(holds(load, "jid"));
  }
}

TEST_CASE("with inline_login a logged-in user gets errors before a call") {
  SaltWorld world(inline_login(), ping_rules());
  world.on("publish", check_password);
  for (const std::size_t unknown : {1U, 2U, 3U}) {
    const Error refused = world.refusal(kLookedUp[unknown]);
    CHECK(refused.kind == ErrorKind::invocation);
    CHECK(holds(refused.message, "unknown node group 'nosuch'"));
  }
  const Error right = world.refusal(kLookedUp[4]);
  CHECK(right.kind == ErrorKind::authorization);
  CHECK(right.user == "fred");
  CHECK(right.eauth == "pam");
  const Error own_jid = world.refusal(kLookedUp[5]);
  CHECK(own_jid.kind == ErrorKind::invocation);
  CHECK(holds(own_jid.message, "inline_login"));
  CHECK(world.master().admit(world.chunk(kLookedUp[0]), SaltWorld::soon()));
  CHECK(world.loads("mk_token").empty());
}

TEST_CASE("with inline_login a user in publisher_acl_blacklist is refused") {
  SaltWorld world(inline_login());
  world.refuse("publish", "AuthorizationError");
  const Error refused = world.refusal(kLookedUp[1]);
  CHECK(refused.kind == ErrorKind::authorization);
  CHECK(refused.message == "Authorization error occurred.");
  CHECK(refused.user == "fred");
  CHECK(refused.eauth == "pam");
}

TEST_CASE("with inline_login credentials are sent with each call, without a separate login") {
  SaltWorld world(inline_login());
  for (const char* call :
       {kPing, R"("client": "local", "tgt": "G@os:Debian and web*", "tgt_type": "compound", "fun": "a.b")",
        R"("client": "local", "tgt": ["*", "or", "x"], "tgt_type": "compound", "fun": "a.b")",
        R"("client": "local", "tgt": ["N@web"], "tgt_type": "list", "fun": "a.b")",
        R"("client": "runner", "fun": "test.arg")"}) {
    world.permit(call);
  }
  CHECK(world.port().messages() == 0);
  REQUIRE(world.master().publish_async(world.permit()));
  CHECK(world.loads("mk_token").empty());
  CHECK(holds(world.loads("publish").at(0), R"("password": "secret")"));
}

TEST_CASE("with inline_login a failed confirmation counts as a login") {
  const test::CapturedLog log;
  SaltWorld world(inline_login(), {}, {.tries = 1});
  world.always("publish", R"("Some exception handling minion payload")");
  CHECK(world.refusal(kLookedUp[1]).kind == ErrorKind::unavailable);
  world.on("publish", check_password);
  CHECK(world.refusal(kLookedUp[1], "wrong").kind == ErrorKind::authentication);
  CHECK(world.refusal(kLookedUp[1]).kind == ErrorKind::throttled);
  SaltWorld gone(inline_login());
  gone.port().stop();
  CHECK(gone.refusal(kLookedUp[1]).kind == ErrorKind::unavailable);
}

TEST_CASE("with inline_login waiting for a login ends at the deadline") {
  SaltWorld world(inline_login(), {}, {.tries = 1});
  const lowstate::Chunk& chunk = world.chunk(kLookedUp[0]);
  const master::Permit permit = world.permit();
  const SteadyTime now = std::chrono::steady_clock::now();
  std::once_flag first;
  std::promise<std::pair<ErrorKind, ErrorKind>> refused;
  world.on("publish", [&](const std::string& load) {
    std::call_once(first, [&] {
      refused.set_value({world.master().admit(chunk, now).error().kind,
                         world.master().publish_async(permit.ending_by(now)).error().kind});
    });
    return check_password(load);
  });
  CHECK(world.master().publish_async(permit));
  const auto [looked_up, sent] = refused.get_future().get();
  CHECK(looked_up == ErrorKind::timeout);
  CHECK(sent == ErrorKind::timeout);
  CHECK(world.loads("publish").size() == 1);
}

TEST_CASE("with inline_login wheel_async needs a login first") {
  const test::CapturedLog log;
  SaltWorld world(inline_login());
  world.on("publish", check_password);
  constexpr const char* kList = R"("client": "wheel_async", "fun": "key.list_all")";
  for (const char* password : {"wrong", "secret"}) {
    const auto permit = world.master().admit(world.chunk(kList, password), SaltWorld::soon());
    REQUIRE(permit);
    const auto started = world.master().wheel_async(*permit);
    CHECK(started.ok() == (std::string(password) == "secret"));
    if (!started) CHECK_MESSAGE(started.error().kind == ErrorKind::authentication, started.error().message);
  }
  CHECK(world.runtime().shutdown(SaltWorld::soon()) == 0);
  REQUIRE(world.loads("wheel").size() == 1);
  CHECK(holds(world.loads("wheel").front(), R"("password": "secret")"));
}

// SPDX-License-Identifier: MIT
#include "master/salt/salt_master.h"

#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "../../support/captured_log.h"
#include "../../support/holds.h"
#include "master/salt/release_series.h"
#include "salt_world.h"

using namespace rest_fcgi;
using test::holds;
using test::kPing;
using test::SaltWorld;
using What = master::Publication::What;

namespace {

constexpr const char* kListKeys = R"("client": "wheel_async", "fun": "key.list_all")";
constexpr const char* kOwnJid =
    R"("client": "local", "tgt": "*", "fun": "test.ping", "jid": "20261121000000000007")";
constexpr const char* kThereIs = R"("client": "runner", "fun": "there.is")";

std::optional<master::Delivery> first_delivery(SaltWorld& world, const master::Permit& permit,
                                               const master::Publication& publication, std::string value) {
  const auto returns = std::make_shared<master::Returns>();
  const auto job = world.master().publish(permit, publication, returns);
  REQUIRE_MESSAGE(job, job.error().message);
  world.send_return("ms-0", value);
  auto delivery = returns->take(SaltWorld::soon());
  // All jobs of this test have the same id, so the event bus must forget one job before the next job starts.
  CHECK(test::eventually([&] { return returns.use_count() == 1; }));
  return delivery;
}

struct World {
  SaltWorld world;
};

}  // namespace

TEST_CASE_FIXTURE(World, "later calls send the token and not the password") {
  for (int i = 0; i < 3; ++i) REQUIRE(world.master().publish_async(world.permit()));
  CHECK(world.loads("mk_token").size() == 1);
  CHECK(holds(world.loads("mk_token")[0], R"("password": "secret")"));
  REQUIRE(world.loads("publish").size() == 3);
  for (const std::string& load : world.loads("publish")) {
    CHECK(holds(load, R"("token": "t0ken")"));
    CHECK_FALSE(holds(load, "secret"));
    CHECK_FALSE(holds(load, R"("jid")"));
    CHECK(holds(load, R"("user": "fred")"));
  }
}

TEST_CASE_FIXTURE(World, "the master returns the owner of a caller's token") {
  const lowstate::Chunk& mine = world.chunk_with_token(kPing);
  CHECK(world.master().admit(mine, SaltWorld::soon()).error().kind == ErrorKind::authentication);
  world.always("get_token", SaltWorld::grant(SaltWorld::kToken, "ann"));
  const auto permit = world.master().admit(mine, SaltWorld::soon());
  if (!permit) FAIL(permit.error().message);
  CHECK(permit->user() == "ann");
  REQUIRE(world.master().publish_async(*permit));
  CHECK(holds(world.loads("publish").at(0), format(R"("token": "{}")", SaltWorld::kToken)));
}

TEST_CASE_FIXTURE(World, "a refused token is replaced by a new login once") {
  const master::Permit permit = world.permit();
  auto refused = std::make_shared<int>(0);
  world.on("publish", [refused](const std::string&) -> std::string {
    if ((*refused)++ == 0) return R"({"error": {"name": "AuthenticationError", "message": "x"}})";
    return R"({"enc": "clear", "load": {"jid": "20261121000000000009", "minions": ["a"], "missing": []}})";
  });
  const auto job = world.master().publish_async(permit);
  REQUIRE(job);
  CHECK(job->jid == "20261121000000000009");
  CHECK(world.loads("mk_token").size() == 2);
  CHECK(world.loads("publish").size() == 2);
  world.refuse("publish", "AuthenticationError");
  CHECK(world.master().publish_async(permit).error().kind == ErrorKind::authentication);
  CHECK(world.loads("publish").size() == 4);
}

TEST_CASE_FIXTURE(World, "a missing permission is an authorization error with the user") {
  const master::Permit permit = world.permit();
  world.refuse("publish", "AuthorizationError");
  const auto job = world.master().publish_async(permit);
  REQUIRE_FALSE(job);
  CHECK(job.error().kind == ErrorKind::authorization);
  CHECK(job.error().user == "fred");
  CHECK(world.loads("publish").size() == 1);
  CHECK(world.loads("mk_token").size() == 1);
}

TEST_CASE("CVE-2013-4435: each function of a compound call is checked before the master") {
  SaltWorld world({}, {{"pam", {}, {{"fred", {{"", {{"test.ping", {}}}}}}}}});
  const Error refused =
      world.refusal(R"("client": "local", "tgt": "*", "fun": ["test.ping", "cmd.run"], "arg": [[], ["id"]])");
  CHECK(refused.kind == ErrorKind::authorization);
  CHECK(refused.user == "fred");
  CHECK(world.loads("publish").empty());
}

TEST_CASE_FIXTURE(World, "salt#45874: a return before the publish reply is not lost") {
  const master::Permit permit = world.permit();
  world.on("publish", [this](const std::string&) -> std::string {
    world.send_return("ms-0", "\"early\"");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return R"({"enc": "clear", "load": {"jid": "20261121000000000001", "minions": ["ms-0"], "missing": []}})";
  });
  const auto returns = std::make_shared<master::Returns>();
  REQUIRE(world.master().publish(permit, {}, returns));
  const auto delivery = returns->take(SaltWorld::soon());
  REQUIRE(delivery.has_value());
  CHECK(std::get<master::Return>(*delivery).ret.text() == "\"early\"");
}

TEST_CASE_FIXTURE(World, "a call with the job id of a waiting call is refused, and not sent to the master") {
  const master::Permit permit = world.permit(format(R"({}, "jid": "{}")", kPing, SaltWorld::kJid));
  const auto first = std::make_shared<master::Returns>();
  REQUIRE(world.master().publish(permit, {}, first));
  const auto second = world.master().publish(permit, {}, std::make_shared<master::Returns>());
  REQUIRE_FALSE(second);
  CHECK(second.error().kind == ErrorKind::unavailable);
  CHECK(holds(second.error().message, SaltWorld::kJid));
  CHECK(world.loads("publish").size() == 1);
}

TEST_CASE_FIXTURE(World, "a lost publish reply has the caller's job id") {
  // The permit is made before its deadline, because a login may take long on a busy host.
  const auto ending_soon = [](const master::Permit& early) {
    return early.ending_by(std::chrono::steady_clock::now() + std::chrono::seconds(1));
  };
  world.always("publish", "");
  const auto late = world.master().publish_async(ending_soon(world.permit(kOwnJid)));
  CHECK(late.error().kind == ErrorKind::timeout);
  CHECK(late.error().jid == "20261121000000000007");
  CHECK(world.master().publish_async(ending_soon(world.permit())).error().jid.empty());
  world.refuse("publish", "AuthorizationError");
  CHECK(world.master().publish_async(world.permit(kOwnJid)).error().jid.empty());
  const master::Permit permit = world.permit(kOwnJid);
  world.port().stop();
  // The first request may still use the broken connection.
  static_cast<void>(world.master().publish_async(permit));
  const auto gone = world.master().publish(permit, {}, std::make_shared<master::Returns>());
  CHECK(gone.error().kind == ErrorKind::unavailable);
  CHECK(gone.error().jid.empty());
}

TEST_CASE("the load of a surely allowed call has a job id, which the reply shows if the outcome is unknown") {
  SaltWorld world({}, {{"pam", {}, {{"fred", {{"", {{"test.ping", {}}}}, {"ms-0", {{"test.arg", {}}}}}}}}});
  const auto limited = world.permit(R"("client": "local", "tgt": "ms-0", "fun": "test.arg")");
  const auto elsewhere = world.permit(R"("client": "local", "tgt": "ms-*", "fun": "test.arg")");
  for (const auto& permit : {world.permit(), limited, elsewhere}) {
    REQUIRE(world.master().publish_async(permit));
  }
  const auto loads = world.loads("publish");
  CHECK(holds(loads[0], R"("jid": "20)"));
  CHECK(holds(loads[1], R"("jid": "20)"));
  CHECK_FALSE(holds(loads[2], R"("jid")"));  // The master may refuse this load and show it on its bus.
  world.always("publish", R"("Some exception handling minion payload")");
  const Error failed = world.master().publish_async(world.permit()).error();
  CHECK(failed.kind == ErrorKind::unavailable);
  CHECK(failed.jid.size() == 20);
  world.always("publish", "");
  const SteadyTime soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  const Error unknown = world.master().publish_async(world.permit().ending_by(soon)).error();
  CHECK(unknown.kind == ErrorKind::timeout);
  CHECK(unknown.jid.size() == 20);
}

TEST_CASE_FIXTURE(World, "questions are published as functions of Salt") {
  const master::Permit permit =
      world.permit(R"("client": "local", "tgt": "*", "fun": "disk.usage", "ret": "redis")");
  CHECK(first_delivery(world, permit, {What::ping, std::nullopt, {}}, "true").has_value());
  CHECK(first_delivery(world, permit,
                       {What::find_job, std::vector<std::string>{"ms-0"}, "20261121000000000005"}, "{}")
            .has_value());
  const auto has = first_delivery(world, permit, {What::has_function, std::nullopt, {}}, R"(["disk.usage"])");
  CHECK(std::get<master::Return>(*has).ret == Json::boolean(true));
  const auto loads = world.loads("publish");
  REQUIRE(loads.size() == 3);
  CHECK(holds(loads[0], R"("fun": "test.ping", "arg": [])"));
  CHECK(holds(loads[1], R"("tgt": ["ms-0"], "fun": "saltutil.find_job", "arg": ["20261121000000000005"])"));
  CHECK(holds(loads[1], R"("tgt_type": "list")"));
  CHECK(holds(loads[2], R"("fun": "sys.list_functions", "arg": ["disk.usage"])"));
  for (const std::string& load : loads) CHECK(holds(load, R"("ret": "")"));
}

TEST_CASE("the load has the options of chunk and configuration") {
  salt::Options options;
  options.ext_job_cache = "etcd";
  options.order_masters = true;
  options.nodegroups = {{"web", {"web*", "or", "G@role:web"}}};
  SaltWorld world(options);
  REQUIRE(world.master().publish_async(
      world.permit(R"("client": "local", "tgt": "web", "tgt_type": "nodegroup", "fun": "test.arg",
        "ret": "redis", "jid": "20261121000000000007", "metadata": {"a": 1}, "timeout": 3)")));
  const std::string load = world.loads("publish").at(0);
  CHECK(holds(load, R"("ret": "redis,etcd")"));
  CHECK(holds(load, R"("jid": "20261121000000000007")"));
  CHECK(holds(load, R"("metadata": {"a": 1})"));
  CHECK(holds(load, R"("to": 3)"));
  CHECK(holds(load, "G@role:web"));
  CHECK(holds(load, R"("tgt_type": "compound")"));
  CHECK(holds(
      world.refusal(R"("client": "local", "tgt": "nosuch", "tgt_type": "nodegroup", "fun": "a.b")").message,
      "unknown node group 'nosuch'"));
  CHECK(world.refusal(R"("client": "local", "tgt": "nosuch", "tgt_type": "nodegroup", "fun": "a.b")", "wrong")
            .kind == ErrorKind::authentication);
  CHECK(world.refusal(R"("client": "wheel_async", "fun": "key.list", "kwarg": {"arg": []})").kind ==
        ErrorKind::invocation);
}

TEST_CASE_FIXTURE(World, "a runner's return comes from the event bus") {
  const auto returns = std::make_shared<master::RunnerReturns>();
  const auto started = world.master().runner(
      world.permit(R"("client": "runner", "fun": "test.arg", "full_return": true)"), returns);
  REQUIRE(started);
  const std::string event = R"({"jid": "20261121000000000001", "return": 5, "success": true})";
  world.bus().send(started->tag + "/ret", test::packed(event));
  const auto ret = returns->take(SaltWorld::soon());
  REQUIRE(ret.has_value());
  REQUIRE(*ret);
  CHECK((**ret).ret.text() == "5");
  CHECK((**ret).data.text() == event);
}

TEST_CASE_FIXTURE(World, "an asynchronous wheel returns its jid at once") {
  const master::Permit permit = world.permit(kListKeys);
  const auto started = world.master().wheel_async(permit);
  REQUIRE(started);
  CHECK(started->tag == "salt/wheel/" + started->jid);
  CHECK(world.runtime().shutdown(SaltWorld::soon()) == 0);
  REQUIRE(world.loads("wheel").size() == 1);
  CHECK(holds(world.loads("wheel")[0], started->jid));
  CHECK(holds(world.loads("wheel")[0], R"("token": "t0ken")"));
  CHECK(world.master().wheel_async(permit).error().kind == ErrorKind::unavailable);
}

TEST_CASE_FIXTURE(World, "an asynchronous wheel replaces a refused token") {
  const master::Permit permit = world.permit(kListKeys);
  world.always("get_token", "{}");
  REQUIRE(world.master().wheel_async(permit));
  CHECK(world.loads("mk_token").size() == 2);
  CHECK(world.runtime().shutdown(SaltWorld::soon()) == 0);
  CHECK(world.loads("wheel").size() == 1);
}

TEST_CASE("a refused asynchronous wheel is logged") {
  const test::CapturedLog log;
  SaltWorld world;
  const master::Permit permit = world.permit(kListKeys);
  world.refuse("wheel", "TokenAuthenticationError", "no rights for user fred.");
  REQUIRE(world.master().wheel_async(permit));
  CHECK(test::eventually([&] { return world.loads("wheel").size() == 1; }));
  world.always("wheel", R"("bad load")");
  REQUIRE(world.master().wheel_async(permit));
  CHECK(world.runtime().shutdown(SaltWorld::soon()) == 0);
  INFO(log.text());
  CHECK(holds(log.text(), "the master refused it: "));
  CHECK(holds(log.text(), "bad load"));
}

TEST_CASE_FIXTURE(World, "without the event bus, the master publishes no job") {
  const master::Permit permit = world.permit();
  const master::Permit runner = world.permit(R"("client": "runner", "fun": "test.arg")");
  world.bus().stop();
  std::size_t published = 0;
  Result<master::Job> job = world.master().publish(permit, {}, std::make_shared<master::Returns>());
  for (; job; ++published) job = world.master().publish(permit, {}, std::make_shared<master::Returns>());
  CHECK(job.error().kind == ErrorKind::unavailable);
  CHECK_FALSE(world.start_runner(runner));
  CHECK(world.loads("publish").size() == published);
  CHECK(world.loads("runner").empty());
  CHECK(world.master().publish_async(permit));
}

TEST_CASE_FIXTURE(World, "salt#21740: each call reports that the master does not run") {
  const master::Permit permit = world.permit();
  world.port().stop();
  CHECK(world.master().publish_async(permit).error().kind == ErrorKind::unavailable);
  for (const Error& error : {world.master().publish_async(permit).error(), world.refusal(kPing, "other")}) {
    CHECK(error.kind == ErrorKind::unavailable);
    CHECK(error.message == salt::kMasterNotAvailable);
  }
}

namespace {

/// The master starts every runner, also an unknown one, as Salt 3008 does. The runner `doc.runner` documents
/// one function, `there.is`. If `allowed` is false, the master refuses `doc.runner`.
void only_runner(SaltWorld& world, bool allowed) {
  world.on("runner", [&world, allowed](const std::string& load) -> std::string {
    constexpr const char* kDocs = "20261121000000000002";
    if (!holds(load, "doc.runner")) {
      return SaltWorld::runner_reply();
    }
    if (!allowed) {
      return R"({"error": {"name": "TokenAuthenticationError", "message": "occurred for user fred."}})";
    }
    world.bus().send(format("salt/run/{}/ret", kDocs),
                     test::packed(format(R"({{"jid": "{}", "return": {{"there.is": "text"}}}})", kDocs)));
    return SaltWorld::runner_reply(kDocs);
  });
}

}  // namespace

TEST_CASE_FIXTURE(World, "a known runner may start late, an unknown runner is not available") {
  only_runner(world, true);
  const master::Permit permit = world.permit(kThereIs);
  for (int i = 0; i < 2; ++i) REQUIRE(world.start_runner(permit));
  CHECK(world.loads("runner").size() == 3);
  const auto started = world.start_runner(world.permit(R"("client": "runner", "fun": "no.such")"));
  REQUIRE_FALSE(started);
  CHECK(started.error().kind == ErrorKind::unknown_runner);
  CHECK(started.error().message == "'no.such' is not available.");
  CHECK(started.error().jid == SaltWorld::kJid);
}

TEST_CASE("without doc.runner an unknown runner fails after a while") {
  salt::Options options;
  options.runner_start_time = std::chrono::milliseconds(50);
  SaltWorld world(options);
  only_runner(world, false);
  const master::Permit permit = world.permit(kThereIs);
  const auto started = world.start_runner(permit);
  REQUIRE_FALSE(started);
  CHECK(started.error().kind == ErrorKind::timeout);
  CHECK(started.error().jid == SaltWorld::kJid);
  CHECK(started.error().message.starts_with(
      "The Salt Master did not start the runner 'there.is' within 0.05 seconds"));
}

TEST_CASE("a runner that has started before is not checked") {
  salt::Options options;
  options.runner_start_time = std::chrono::milliseconds(1);
  SaltWorld world(options);
  const master::Permit permit = world.permit(kThereIs);
  world.on("runner", [&world](const std::string&) {
    world.begin_runner();
    return SaltWorld::runner_reply();
  });
  test::eventually([&] { return world.start_runner(permit).ok(); });
  only_runner(world, false);
  CHECK(world.start_runner(permit));
}

// SPDX-License-Identifier: MIT
#include "rest_fcgi/engine/salt_metrics.h"

#include <memory>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "../support/manual_clock.h"

using namespace rest_fcgi;
using engine::SaltMetrics;

namespace {

struct World {
  test::ManualClock clock;
  std::shared_ptr<metrics::Registry> registry = std::make_shared<metrics::Registry>();
  SaltMetrics salt{registry, clock};

  void event(std::string_view tag, std::string_view data) {
    JsonDocument document;
    REQUIRE(document.parse(data, JsonLimits::none()));
    salt.on_event(tag, document.root());
  }

  [[nodiscard]] bool has(const std::string& line) const {
    return registry->text(metrics::Format::text).find("\n" + line + "\n") != std::string::npos;
  }
};

}  // namespace

TEST_CASE("events of jobs are counted by function and minion") {
  World world;
  world.event("salt/job/1/new", R"({"fun": "test.ping", "minions": ["a", "b"], "arg": []})");
  world.event("salt/job/1/ret/a", R"({"fun": "test.ping", "id": "a", "success": true, "return": true})");
  world.event("salt/job/1/ret/b", R"({"fun": "test.ping", "id": "b", "success": false, "return": ""})");
  world.event("salt/run/2/new", R"({"fun": "runner.jobs.active"})");
  world.event("salt/run/2/ret", R"({"fun": "runner.jobs.active", "success": true})");
  CHECK(world.has(R"(salt_new_job_total{function="test.ping",state=""} 1)"));
  CHECK(world.has(R"(salt_expected_responses_total{function="test.ping",state=""} 2)"));
  CHECK(world.has(R"(salt_function_responses_total{function="test.ping",state="",success="true"} 1)"));
  CHECK(world.has(R"(salt_responses_total{minion="b",success="false"} 1)"));
  CHECK(world.has(R"(salt_expected_responses_total{function="runner.jobs.active",state=""} 0)"));
  CHECK(world.has(R"(salt_responses_total{minion="master",success="true"} 1)"));
  CHECK(world.has("salt_health_minions_total 2"));
}

TEST_CASE("calls of states have the label state, and a highstate a status") {
  World world;
  world.event("salt/job/1/new", R"({"fun": "state.apply", "minions": ["a"], "arg": []})");
  world.event("salt/job/2/new",
              R"({"fun": "state.sls", "minions": ["a"], "arg": [{"mods": "web", "__kwarg__": true}]})");
  world.event("salt/job/3/new", R"({"fun": "state.single", "minions": ["a"], "arg": ["test.nop"]})");
  world.event("salt/job/4/ret/a",
              R"({"fun": "state.highstate", "id": "a", "success": true, "fun_args": []})");
  CHECK(world.has(R"(salt_new_job_total{function="state.apply",state="highstate"} 1)"));
  CHECK(world.has(R"(salt_new_job_total{function="state.sls",state="web"} 1)"));
  CHECK(world.has(R"(salt_new_job_total{function="state.single",state="test.nop"} 1)"));
  CHECK(world.has(R"(salt_function_status{minion="a",function="state.highstate",state="highstate"} 1)"));
  world.event("salt/job/5/ret/a", R"({"fun": "state.highstate", "id": "a", "success": false})");
  CHECK(world.has(R"(salt_function_status{minion="a",function="state.highstate",state="highstate"} 0)"));
}

TEST_CASE("a return is good by its retcode, by success if it has one, and by its states") {
  World world;
  const auto send = [&](const std::string& minion, const std::string& more) {
    world.event("salt/job/1/ret/" + minion,
                R"({"fun": "state.apply", "fun_args": [], "id": ")" + minion + "\", " + more + "}");
    return world.has("salt_responses_total{minion=\"" + minion + R"(",success="true"} 1)");
  };
  CHECK(send("salt-call", R"("retcode": 0, "return": {"a": {"result": true}})"));
  CHECK(send("no-retcode", R"("success": true, "return": {})"));
  CHECK(send("would-change", R"("retcode": 0, "success": true, "return": {"a": {"result": null}})"));
  CHECK_FALSE(send("bad-code", R"("retcode": 2, "success": true, "return": {})"));
  CHECK_FALSE(send("says-so", R"("retcode": 0, "success": false, "return": {})"));
  CHECK_FALSE(
      send("bad-state",
           R"("retcode": 0, "success": true, "return": {"a": {"result": null}, "b": {"result": false}})"));
  world.event("salt/job/1/ret/m",
              R"({"fun": "test.arg", "id": "m", "retcode": 0, "return": {"kwargs": {"result": false}}})");
  CHECK(world.has(R"(salt_responses_total{minion="m",success="true"} 1)"));
}

TEST_CASE("a list of functions counts for each function") {
  World world;
  world.event("salt/job/1/new",
              R"({"fun": ["test.ping", "state.sls"], "minions": ["a"], "arg": [[], ["web"]]})");
  world.event("salt/job/1/ret/a",
              R"({"fun": ["test.ping", "state.sls"], "fun_args": [[], ["web"]], "id": "a",
                  "return": {"test.ping": true, "state.sls": {"x": {"result": false}}},
                  "retcode": {"test.ping": 0, "state.sls": 2}, "success": {"test.ping": true, "state.sls": true}})");
  CHECK(world.has(R"(salt_new_job_total{function="test.ping",state=""} 1)"));
  CHECK(world.has(R"(salt_expected_responses_total{function="state.sls",state="web"} 1)"));
  CHECK(world.has(R"(salt_function_responses_total{function="test.ping",state="",success="true"} 1)"));
  CHECK(world.has(R"(salt_function_responses_total{function="state.sls",state="web",success="false"} 1)"));
  CHECK(world.has(R"(salt_responses_total{minion="a",success="false"} 1)"));
}

TEST_CASE("the duration of states and the time of the last return have metrics") {
  World world;
  world.event("salt/job/1/ret/a", R"({"fun": "state.sls", "fun_args": ["web"], "id": "a", "retcode": 0,
                  "return": {"x": {"result": true, "duration": 1200.5}, "y": {"result": true, "duration": 300}}})");
  world.event("salt/job/2/ret/a", R"({"fun": "test.arg", "id": "a", "retcode": 0, "return": {"x": {}}})");
  CHECK(world.has(R"(salt_job_duration_seconds{function="state.sls",state="web"} 1.5005)"));
  CHECK_FALSE(world.has(R"(salt_job_duration_seconds{function="test.arg",state=""} 0)"));
  CHECK(world.has(R"(salt_responses_last_received_response{minion="a"} 1700000000)"));
  world.event("salt/key", R"({"act": "delete", "id": "a"})");
  CHECK_FALSE(world.has(R"(salt_responses_last_received_response{minion="a"} 1700000000)"));
}

TEST_CASE("calls with test=True or mock=True can be left out") {
  World world;
  SaltMetrics quiet(world.registry = std::make_shared<metrics::Registry>(), world.clock, true);
  const auto send = [&](std::string_view tag, std::string_view data) {
    JsonDocument document;
    REQUIRE(document.parse(data, JsonLimits::none()));
    quiet.on_event(tag, document.root());
  };
  for (const std::string args :
       {R"(["web", {"__kwarg__": true, "test": true}])", R"(["web", {"mock": true}])",
        R"(["web", "test=True"])", R"([["web", {"test": true}]])"}) {
    send("salt/job/1/new", R"({"fun": "state.sls", "minions": ["a"], "arg": )" + args + "}");
    send("salt/job/1/ret/a", R"({"fun": "state.sls", "id": "a", "return": {}, "fun_args": )" + args + "}");
  }
  CHECK(world.registry->text(metrics::Format::text).find("state.sls") == std::string::npos);
  send("salt/job/1/new", R"({"fun": "state.sls", "minions": ["a"], "arg": ["web", {"test": false}]})");
  CHECK(world.has(R"(salt_new_job_total{function="state.sls",state="web"} 1)"));
}

TEST_CASE("a scheduled job has failed if its retcode or one of its states says so") {
  World world;
  const auto send = [&](const std::string& more) {
    world.event("salt/job/1/ret/a",
                R"({"fun": "state.sls", "fun_args": ["x"], "id": "a", "success": true, "schedule": "s", )" +
                    more + "}");
  };
  send(R"("retcode": 0, "return": {"one": {"result": true}})");
  send(R"("retcode": 0, "return": {"one": {"result": true}, "two": {"result": false}})");
  send(R"("retcode": 2, "return": {})");
  CHECK(world.has(R"(salt_scheduled_job_return_total{function="state.sls",state="x",success="true"} 1)"));
  CHECK(world.has(R"(salt_scheduled_job_return_total{function="state.sls",state="x",success="false"} 2)"));
  CHECK(world.has(R"(salt_responses_total{minion="a",success="false"} 2)"));
}

TEST_CASE("a status beacon is a heartbeat, until the key of the minion is deleted") {
  World world;
  world.event("salt/beacon/a/status", R"({"id": "a"})");
  world.event("salt/minion/b/start", R"({"id": "b"})");
  CHECK(world.has(R"(salt_health_last_heartbeat{minion="a"} 1700000000)"));
  CHECK(world.has("salt_health_minions_total 2"));
  world.event("salt/key", R"({"act": "delete", "id": "a"})");
  CHECK_FALSE(world.has(R"(salt_health_last_heartbeat{minion="a"} 1700000000)"));
  CHECK(world.has("salt_health_minions_total 1"));
}

TEST_CASE("a minion has a heartbeat from the acceptance of its key on, also if it never sends one") {
  World world;
  world.salt.add_minion("a");
  world.event("salt/key", R"({"act": "accept", "id": "b", "result": true})");
  world.event("salt/auth", R"({"act": "accept", "id": "c", "result": true})");
  world.event("salt/auth", R"({"act": "pend", "id": "d", "result": true})");
  for (const char* minion : {"a", "b", "c"})
    CHECK(world.has(std::string("salt_health_last_heartbeat{minion=\"") + minion + "\"} 1700000000"));
  CHECK(world.has("salt_health_minions_total 3"));
}

TEST_CASE("a function with a long name counts as other") {
  World world;
  world.salt.job_new(std::string(129, 'x'), 1);
  world.salt.job_new(std::string(128, 'y'), 1);
  CHECK(world.has(R"(salt_new_job_total{function="other",state=""} 1)"));
  CHECK(world.has(R"(salt_new_job_total{function=")" + std::string(128, 'y') + R"(",state=""} 1)"));
}

TEST_CASE("events of other kinds are ignored") {
  World world;
  for (const char* tag : {"", "salt", "salt/job", "salt/job/1", "salt/wheel/1/new", "other/job/1/new"})
    world.event(tag, R"({"fun": "x", "id": "y"})");
  CHECK(world.registry->text(metrics::Format::text).find("salt_new_job_total{") == std::string::npos);
}

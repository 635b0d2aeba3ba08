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

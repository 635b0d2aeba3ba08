// SPDX-License-Identifier: MIT
#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include "../../support/captured_log.h"
#include "../../support/embedded_engine.h"

using namespace rest_fcgi;
using test::EmbeddedEngine;

namespace {

constexpr const char* kInterruptedText = "\"Job interrupted: the engine shut down before it ended.\"";

SteadyTime now() {
  return std::chrono::steady_clock::now();
}

std::string lookup(EmbeddedEngine& engine, const std::string& jid) {
  return engine.runner(format(R"("fun": "jobs.lookup_jid", "jid": "{}")", jid)).ret.text();
}

}  // namespace

TEST_CASE("a shutdown waits for running and waiting calls") {
  embedded::Options options;
  options.max_workers = 1;
  EmbeddedEngine engine(options);
  std::string jid;
  for (int i = 0; i < 5; ++i) {
    const auto job = engine.publish_async(
        engine.permit(R"("client": "local_async", "tgt": "*", "fun": "test.sleep", "arg": [0])"));
    REQUIRE(job);
    jid = job->jid;
  }
  CHECK(engine.runtime->shutdown(EmbeddedEngine::soon()) == 0);
  CHECK(lookup(engine, jid) == R"({"ms-0": true, "ms-1": true, "ms-2": true})");
}

TEST_CASE("calls that have not ended at the deadline of a shutdown are recorded as interrupted") {
  const test::CapturedLog log;
  embedded::Options options;
  options.max_workers = 1;
  EmbeddedEngine engine(options);
  const auto job = engine.publish_async(
      engine.permit(R"("client": "local_async", "tgt": "*", "fun": "test.sleep", "arg": [600])"));
  REQUIRE(job);
  CHECK(engine.runtime->shutdown(now()) == 3);
  CHECK(lookup(engine, job->jid) == format(R"({{"ms-0": {0}, "ms-1": {0}, "ms-2": {0}}})", kInterruptedText));
  const std::string stored =
      engine.runner(format(R"("fun": "jobs.list_job", "jid": "{}")", job->jid)).ret.text();
  CHECK(stored.find(R"("retcode": 1, "success": false)") != std::string::npos);
  for (const char* minion : {"ms-0", "ms-1", "ms-2"}) {
    CHECK(log.has(format("job {} on {} was interrupted", job->jid, minion)));
  }
}

TEST_CASE("a caller gets the interrupted return of a shutdown") {
  const test::CapturedLog log;
  EmbeddedEngine engine;
  auto returns = std::make_shared<master::Returns>();
  auto runner_returns = std::make_shared<master::RunnerReturns>();
  REQUIRE(engine.master->publish(
      engine.permit(R"("client": "local", "tgt": "ms-0", "fun": "test.sleep", "arg": [600])"), {}, returns));
  REQUIRE(engine.master->runner(engine.permit(R"("client": "runner", "fun": "test.sleep", "arg": [600])"),
                                runner_returns));
  CHECK(engine.runtime->shutdown(now()) == 2);
  const auto ret = returns->take(EmbeddedEngine::soon());
  REQUIRE(ret.has_value());
  const auto& minions_ret = std::get<master::Return>(*ret);
  CHECK(minions_ret.ret.text() == kInterruptedText);
  CHECK(minions_ret.retcode == 1);
  CHECK_FALSE(minions_ret.success);
  const auto runner_ret = runner_returns->take(EmbeddedEngine::soon());
  REQUIRE(runner_ret.has_value());
  REQUIRE(*runner_ret);
  CHECK((**runner_ret).ret.text() == kInterruptedText);
  CHECK((**runner_ret).data.text().find("\"success\": false") != std::string::npos);
}

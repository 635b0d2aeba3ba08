// SPDX-License-Identifier: MIT
#include "master/embedded/jobs/jobs.h"

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/captured_log.h"
#include "../../../support/embedded_engine.h"
#include "../../../support/eventually.h"
#include "../../../support/holds.h"
#include "job_fixture.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/master/embedded/embedded.h"

using namespace rest_fcgi;
using namespace rest_fcgi::embedded;
using test::holds;
using test::kJid;
using test::leave_orphan;
using test::load_of;

namespace {

std::shared_ptr<RunningJob> job_of(returner::Load load) {
  return std::make_shared<RunningJob>(std::move(load), "", [](const returner::Load&, std::size_t) {});
}

std::shared_ptr<RunningJob> job_of(const char* jid) {
  return job_of(load_of(jid));
}

using StorePtr = std::shared_ptr<store::Store>;
constexpr auto kCommitted = returner::Durability::committed;
const master::Return kTrue{"ms-0", Json::boolean(true), 0, true, ""};

StorePtr in_memory() {
  return *store::Store::open({});
}

std::unique_ptr<returner::Returners> memory() {
  return *returner::Returners::make({}, in_memory(), system_clock());
}

std::unique_ptr<returner::Returners> full_cache() {
  return returner::Returners::of("full", std::make_unique<test::FailingCache>());
}

std::int64_t running_in(const StorePtr& store) {
  std::int64_t rows = -1;
  REQUIRE(store->read([&](store::Connection& from) -> Result<void> {
    rows = from.number("SELECT count(*) FROM running_job")->value_or(0);
    return {};
  }));
  return rows;
}

std::string returned(Jobs& jobs, const std::string& minion) {
  const auto returns = jobs.cache().get_jid(kJid);
  REQUIRE(returns);
  for (const returner::JobReturn& ret : *returns) {
    if (ret.minion == minion) return format("{} {} {}", ret.ret.text(), ret.retcode, ret.success);
  }
  return "nothing";
}

}  // namespace

TEST_CASE("jobs beyond max_queued_bytes are refused") {
  Options options;
  options.max_queued_bytes = 100;
  Jobs jobs(memory(), in_memory(), system_clock(), options);
  returner::Load large = load_of(kJid);
  large.metadata = Json::string(std::string(60, 'x'));
  const auto first = job_of(large);
  large.jid = "20260101000000000001";
  const auto second = job_of(large);
  REQUIRE(jobs.start(first, kCommitted, {}));
  CHECK(jobs.start(second, kCommitted, {}).error().kind == ErrorKind::unavailable);
  for (std::size_t call = 0; call < large.minions.size(); ++call) jobs.finish(*first, call);
  CHECK(jobs.start(second, kCommitted, {}));
}

TEST_CASE("a shutdown logs that the job cache could not save all") {
  const auto runtime = embedded::make_runtime({}, full_cache(), in_memory(), system_clock());
  const test::CapturedLog log;
  CHECK(runtime->shutdown(system_clock().steady()) == 0);
  CHECK(log.has("the disk is full"));
}

TEST_CASE("a durable job that cannot be saved does not run") {
  const test::CapturedLog log;
  Jobs jobs(full_cache(), in_memory(), system_clock());
  const Result<void> started = jobs.start(job_of(kJid), returner::Durability::durable, {});
  REQUIRE_FALSE(started);
  CHECK(started.error().kind == ErrorKind::unavailable);
  CHECK(holds(started.error().message, "the disk is full"));
  CHECK(jobs.active().empty());
}

TEST_CASE("a job that the job cache cannot save goes to the extra returners") {
  Jobs jobs(full_cache(), in_memory(), system_clock());
  CHECK(jobs.start(job_of(kJid), kCommitted, {}));
  const auto others = memory();
  returner::Returner& other = others->master_job_cache();
  const std::vector<master::Return> returns{{"ms-0", Json::boolean(true), 3, false, "nested"},
                                            {"ms-1", Json::boolean(true), 0, true, ""}};
  jobs.add_job(load_of(kJid), returns, {&other}, {});
  const std::vector<returner::JobReturn> kept = *other.get_jid(kJid);
  REQUIRE(kept.size() == 2);
  CHECK(kept[0].ret.text() == "true");
  CHECK(kept[0].retcode == 3);
  CHECK_FALSE(kept[0].success);
  CHECK(kept[0].out == "nested");
}

TEST_CASE("returns also go to ext_job_cache and to the returners in ret") {
  returner::Options options;
  SUBCASE("ext_job_cache") {
    options.ext_job_cache = {"sqlite3"};
  }
  SUBCASE("ret") {}
  const StorePtr store = in_memory();
  auto returners = returner::Returners::make(options, store, system_clock());
  REQUIRE(returners);
  Jobs jobs(*std::move(returners), store, system_clock());
  const Jobs::ExtraReturners extra =
      jobs.extra_returners(options.ext_job_cache.empty() ? "sqlite3,memory" : "");
  REQUIRE(extra.size() == 1);
  REQUIRE(jobs.save(load_of(kJid), kCommitted, extra));
  jobs.save_return(kJid, kTrue, extra);
  for (const returner::Returner* cache : {&jobs.cache(), jobs.returners().find("sqlite3")}) {
    CHECK(cache->get_load(kJid)->value().minions.size() == 2);
    const auto returns = cache->get_jid(kJid);
    REQUIRE(returns->size() == 1);
    CHECK(returns->front().ret.text() == "true");
  }
}

TEST_CASE("a job of a process that died is recorded as interrupted, and keeps its earlier returns") {
  const test::CapturedLog log;
  const StorePtr store = in_memory();
  Jobs jobs(memory(), store, system_clock());
  REQUIRE(jobs.save(load_of(kJid), kCommitted, {}));
  jobs.save_return(kJid, kTrue, {});
  leave_orphan(store, load_of(kJid));
  CHECK(jobs.active().empty());
  CHECK(returned(jobs, "ms-0") == "true 0 true");
  CHECK(returned(jobs, "ms-1") == "\"Job interrupted: the process that ran it is gone.\" 1 false");
  CHECK(log.has("1 of its 2 returns are missing"));
  CHECK(running_in(store) == 0);
}

TEST_CASE("the return of an interrupted runner is its event") {
  const test::CapturedLog log;
  const StorePtr store = in_memory();
  Jobs jobs(memory(), store, system_clock());
  returner::Load load = load_of(kJid, {"elsewhere_master"});
  load.fun = Json::string("runner.test.sleep");
  leave_orphan(store, load);
  CHECK(jobs.active().empty());
  const std::string event = returned(jobs, "elsewhere_master");
  CHECK(event.starts_with("{\"fun\": \"runner.test.sleep\", \"jid\": "));
  CHECK(holds(event, "is gone.\", \"success\": false}"));
}

TEST_CASE("an interrupted job that cannot be recorded is left for a later try") {
  const test::CapturedLog log;
  const StorePtr store = in_memory();
  leave_orphan(store, load_of(kJid));
  Jobs jobs(full_cache(), store, system_clock());
  CHECK(running_in(store) == 1);
}

TEST_CASE("an interrupted job is recorded when the job cache answers again") {
  const StorePtr store = in_memory();
  leave_orphan(store, load_of(kJid));
  auto cache = std::make_unique<test::CacheThatComesBack>();
  std::atomic<bool>& is_away = cache->is_away;
  Jobs jobs(returner::Returners::of("etcd", std::move(cache)), store, system_clock());
  CHECK(running_in(store) == 1);
  is_away = false;
  CHECK(test::eventually([&] { return running_in(store) == 0; }));
}

TEST_CASE("a runner that cannot read the job cache returns an error with its jid") {
  test::EmbeddedEngine engine;
  engine.runtime = embedded::make_runtime({}, full_cache(), in_memory(), system_clock());
  engine.master = engine.reloaded();
  const auto returns = std::make_shared<master::RunnerReturns>();
  const auto started =
      engine.master->runner(engine.permit(R"("client": "runner", "fun": "jobs.list_jobs")"), returns);
  REQUIRE(started);
  const auto ret = returns->take(test::EmbeddedEngine::soon());
  REQUIRE(ret.has_value());
  REQUIRE_FALSE(*ret);
  CHECK(ret->error().kind == ErrorKind::unavailable);
  CHECK(ret->error().message == "the disk is full");
  CHECK(ret->error().jid == started->jid);
}

TEST_CASE("a kill request of another process stops a call") {
  const StorePtr store = in_memory();
  Jobs jobs(memory(), store, system_clock());
  const auto job = job_of(kJid);
  REQUIRE(jobs.start(job, kCommitted, {}));
  CHECK(running_in(store) == 1);
  REQUIRE(RunningTable(store).request_kill(kJid, "ms-1"));
  CHECK(test::eventually([&] { return job->stop_token(1).stop_requested(); }));
  CHECK_FALSE(job->stop_token(0).stop_requested());
  jobs.finish(*job, 0);
  CHECK(running_in(store) == 1);
  jobs.finish(*job, 1);
  CHECK(running_in(store) == 0);
  CHECK(RunningTable(store).kill_requests().empty());
}

TEST_CASE("while the store cannot be written, only durable jobs are refused") {
  const test::CapturedLog log;
  const StorePtr store = in_memory();
  Jobs jobs(memory(), store, system_clock());
  REQUIRE(store->execute("DROP TABLE kill_request"));
  REQUIRE(store->execute("DROP TABLE running_job"));
  CHECK(jobs.start(job_of(kJid), kCommitted, {}));
  CHECK(jobs.active().size() == 1);
  CHECK(jobs.start(job_of("20261120230610043747"), returner::Durability::durable, {}).error().kind ==
        ErrorKind::unavailable);
  CHECK(jobs.active().size() == 1);
}

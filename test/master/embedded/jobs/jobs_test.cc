// SPDX-License-Identifier: MIT
#include "master/embedded/jobs/jobs.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/captured_log.h"
#include "../../../support/embedded_engine.h"
#include "../../../support/fork_alone.h"
#include "../../../support/temp_dir.h"
#include "load.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/master/embedded/embedded.h"

using namespace rest_fcgi;
using namespace rest_fcgi::embedded;
using test::kJid;
using test::load_of;

namespace {

class FullCache : public returner::Returner {
 public:
  Result<bool> prep_jid(std::string_view) override { return true; }
  Result<void> save_load(returner::Load, returner::Durability) override { return full(); }
  Result<void> save_job(const returner::Load&, std::span<const returner::ReturnView>) override {
    return full();
  }
  Result<void> save_minions(std::string_view, const std::vector<std::string>&) override { return full(); }
  Result<void> returner(std::string_view, returner::JobReturn) override { return full(); }
  Result<std::optional<returner::Load>> get_load(std::string_view) const override { return full(); }
  Result<std::vector<returner::JobReturn>> get_jid(std::string_view) const override { return full(); }
  Result<void> get_jids(const returner::JobQuery&, const returner::LoadVisitor&) const override {
    return full();
  }
  Result<void> flush() override { return full(); }

 private:
  static Error full() { return {ErrorKind::unavailable, "the disk is full"}; }
};

std::shared_ptr<RunningJob> job_of(std::string jid) {
  return std::make_shared<RunningJob>(load_of(std::move(jid)), "", [](const returner::Load&, std::size_t) {});
}

using StorePtr = std::shared_ptr<store::Store>;

StorePtr in_memory() {
  return *store::Store::open({});
}

std::unique_ptr<returner::Returners> memory() {
  return *returner::Returners::make({}, in_memory(), system_clock());
}

std::unique_ptr<returner::Returners> full_cache() {
  return returner::Returners::of("full", std::make_unique<FullCache>());
}

void leave_orphan(const StorePtr& store, const returner::Load& load) {
  REQUIRE(RunningTable(store).add(load, ""));
  REQUIRE(store->execute("UPDATE running_job SET start = 1 WHERE jid = ?", load.jid));
}

/// A child process that has a running job until the test kills the process.
class OtherProcess {
 public:
  /// REQUIRES: this process has only one thread and no open store, because a store has a thread.
  explicit OtherProcess(const std::string& path) {
    std::array<int, 2> ready{};
    REQUIRE(::pipe(ready.data()) == 0);
    pid_ = test::fork_alone();
    if (pid_ == 0) {
      auto store = store::Store::open({.path = path});
      if (store && RunningTable(*std::move(store)).add(load_of(kJid), "sqlite3")) {
        static_cast<void>(!::write(ready[1], "x", 1));
      }
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    CHECK(::read(ready[0], &byte, 1) == 1);
    ::close(ready[0]);
  }
  ~OtherProcess() { kill(); }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

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
  const auto first = std::make_shared<RunningJob>(large, "", [](const returner::Load&, std::size_t) {});
  large.jid = "20260101000000000001";
  const auto second = std::make_shared<RunningJob>(large, "", [](const returner::Load&, std::size_t) {});
  REQUIRE(jobs.start(first, returner::Durability::committed, {}));
  const Result<void> refused = jobs.start(second, returner::Durability::committed, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::unavailable);
  for (std::size_t call = 0; call < large.minions.size(); ++call) jobs.finish(*first, call);
  CHECK(jobs.start(second, returner::Durability::committed, {}));
}

TEST_CASE("a durable job that cannot be saved does not run") {
  const test::CapturedLog log;
  Jobs jobs(full_cache(), in_memory(), system_clock());
  const Result<void> started = jobs.start(job_of(kJid), returner::Durability::durable, {});
  REQUIRE_FALSE(started);
  CHECK(started.error().kind == ErrorKind::unavailable);
  CHECK(started.error().message.find("the disk is full") != std::string::npos);
  CHECK(jobs.active().empty());
}

TEST_CASE("a job that the job cache cannot save goes to the extra returners") {
  Jobs jobs(full_cache(), in_memory(), system_clock());
  CHECK(jobs.start(job_of(kJid), returner::Durability::committed, {}));
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
  REQUIRE(jobs.save(load_of(kJid), returner::Durability::committed, extra));
  jobs.save_return(kJid, {"ms-0", Json::boolean(true), 0, true, ""}, extra);
  for (const returner::Returner* cache : {&jobs.cache(), jobs.returners().find("sqlite3")}) {
    const auto load = cache->get_load(kJid);
    REQUIRE(load);
    REQUIRE(load->has_value());
    CHECK((*load)->minions.size() == 2);
    const auto returns = cache->get_jid(kJid);
    REQUIRE(returns);
    REQUIRE(returns->size() == 1);
    CHECK(returns->front().ret.text() == "true");
  }
}

TEST_CASE("a job of a process that died is recorded as interrupted") {
  const test::CapturedLog log;
  const StorePtr store = in_memory();
  leave_orphan(store, load_of(kJid));
  Jobs jobs(memory(), store, system_clock());
  const std::string expected = "\"Job interrupted: the process that ran it is gone.\" 1 false";
  CHECK(returned(jobs, "ms-0") == expected);
  CHECK(returned(jobs, "ms-1") == expected);
  CHECK(log.has("2 of its 2 returns are missing"));
  CHECK(running_in(store) == 0);
}

TEST_CASE("earlier returns of an interrupted job stay") {
  const test::CapturedLog log;
  const StorePtr store = in_memory();
  Jobs jobs(memory(), store, system_clock());
  REQUIRE(jobs.save(load_of(kJid), returner::Durability::committed, {}));
  jobs.save_return(kJid, {"ms-0", Json::boolean(true), 0, true, ""}, {});
  leave_orphan(store, load_of(kJid));
  CHECK(jobs.active().empty());
  CHECK(returned(jobs, "ms-0") == "true 0 true");
  CHECK(returned(jobs, "ms-1").find("Job interrupted") != std::string::npos);
}

TEST_CASE("the return of an interrupted runner is its event") {
  const test::CapturedLog log;
  const StorePtr store = in_memory();
  Jobs jobs(memory(), store, system_clock());
  returner::Load load = load_of(kJid, {"elsewhere_master"});
  SUBCASE("runner") {
    load.fun = Json::string("runner.test.sleep");
    leave_orphan(store, load);
    CHECK(jobs.active().empty());
    const std::string event = returned(jobs, "elsewhere_master");
    CHECK(event.find("{\"fun\": \"runner.test.sleep\", \"jid\": ") == 0);
    CHECK(event.find("is gone.\", \"success\": false}") != std::string::npos);
  }
  SUBCASE("minion") {
    leave_orphan(store, load);
    CHECK(jobs.active().empty());
    CHECK(returned(jobs, "elsewhere_master").starts_with("\"Job interrupted"));
  }
}

TEST_CASE("an interrupted job that cannot be recorded is left for a later try") {
  const test::CapturedLog log;
  const StorePtr store = in_memory();
  leave_orphan(store, load_of(kJid));
  Jobs jobs(full_cache(), store, system_clock());
  CHECK(running_in(store) == 1);
}

TEST_CASE("a shutdown logs that the job cache could not save all") {
  const auto runtime = embedded::make_runtime({}, full_cache(), in_memory(), system_clock());
  const test::CapturedLog log;
  CHECK(runtime->shutdown(system_clock().steady()) == 0);
  CHECK(log.has("the disk is full"));
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

TEST_CASE("a process sees and stops jobs of another process until that is killed") {
  const test::CapturedLog log;
  const test::TempDir dir;
  OtherProcess other(dir / "state/state.db");
  const StorePtr store = *store::Store::open({.path = dir / "state/state.db"});
  Jobs jobs(memory(), store, system_clock());
  const std::vector<ActiveJob> active = jobs.active();
  REQUIRE(active.size() == 1);
  const ActiveJob& job = active[0];
  CHECK(job.pid == other.pid());
  CHECK(job.running == std::vector<std::string>{"ms-0", "ms-1"});
  CHECK(job.ret == "sqlite3");
  CHECK(describe_running(1, job.load, "").text() == describe_running(1, load_of(kJid), "").text());
  CHECK(job.load.metadata->text() == R"({"a": 1})");
  CHECK(*jobs.stop(kJid, "ms-1") == std::optional<pid_t>(other.pid()));
  CHECK_FALSE(jobs.stop(kJid, "nosuch")->has_value());
  CHECK_FALSE(jobs.stop("20261120230610043747", "ms-1")->has_value());
  REQUIRE(store->read([](store::Connection& from) -> Result<void> {
    CHECK(from.number("SELECT count(*) FROM kill_request WHERE minion = 'ms-1'")->value_or(0) == 1);
    return {};
  }));
  other.kill();
  CHECK(jobs.active().empty());
  CHECK(running_in(store) == 0);
  CHECK(returned(jobs, "ms-0").find("Job interrupted") != std::string::npos);
}

TEST_CASE("a kill request of another process stops a call") {
  const StorePtr store = in_memory();
  Jobs jobs(memory(), store, system_clock());
  const auto job = job_of(kJid);
  REQUIRE(jobs.start(job, returner::Durability::committed, {}));
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
  CHECK(jobs.start(job_of(kJid), returner::Durability::committed, {}));
  CHECK(jobs.active().size() == 1);
  const Result<void> refused = jobs.start(job_of("20261120230610043747"), returner::Durability::durable, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::unavailable);
  CHECK(jobs.active().size() == 1);
}

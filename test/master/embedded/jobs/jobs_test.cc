// SPDX-License-Identifier: MIT
#include "master/embedded/jobs/jobs.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "../../../support/captured_log.h"
#include "../../../support/embedded_engine.h"
#include "../../../support/temp_dir.h"
#include "../../../support/threads.h"
#include "load.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/master/embedded/embedded.h"

using namespace rest_fcgi;
using namespace rest_fcgi::embedded;
using test::kJid;
using test::load_of;

namespace {

/// A job cache whose disk is full, until somebody makes room.
class FullCache : public returner::Returner {
 public:
  Result<bool> prep_jid(std::string_view) override { return true; }
  Result<void> save_load(returner::Load, returner::Durability) override { return kept(); }
  Result<void> save_minions(std::string_view, const std::vector<std::string>&) override { return kept(); }
  Result<void> returner(std::string_view, returner::JobReturn) override { return kept(); }
  Result<std::optional<returner::Load>> get_load(std::string_view) const override { return full(); }
  Result<std::vector<returner::JobReturn>> get_jid(std::string_view) const override { return full(); }
  Result<std::vector<returner::FunctionReturn>> get_fun(std::string_view) const override { return full(); }
  Result<void> get_jids(const returner::JobQuery&, const returner::LoadVisitor&) const override {
    return full();
  }
  Result<std::vector<std::string>> get_minions() const override { return full(); }
  Result<void> flush() override { return kept(); }
  Result<std::size_t> clean_old_jobs() override { return full(); }

  bool has_room = false;

 private:
  static Error full() { return {ErrorKind::unavailable, "the disk is full"}; }
  [[nodiscard]] Result<void> kept() const { return has_room ? Result<void>() : Result<void>(full()); }
};

std::shared_ptr<RunningJob> job_of(std::string jid) {
  return std::make_shared<RunningJob>(load_of(std::move(jid)), "", [](const returner::Load&, std::size_t) {});
}

std::unique_ptr<returner::Returners> memory() {
  return *returner::Returners::make({}, system_clock());
}

/// Leaves the job of a process that has gone in the directory.
void leave_orphan(const test::TempDir& dir, const returner::Load& load) {
  const auto proc = ProcDir::open(dir.path());
  REQUIRE(proc);
  REQUIRE((*proc)->add(load, ""));
}

/// How many jobs the directory shows.
std::size_t shown_in(const test::TempDir& dir) {
  const auto proc = ProcDir::open(dir.path());
  REQUIRE(proc);
  return (*proc)->others().size();
}

std::string returned(Jobs& jobs, const std::string& minion) {
  const auto returns = jobs.cache().get_jid(kJid);
  REQUIRE(returns);
  for (const returner::JobReturn& ret : *returns) {
    if (ret.minion == minion) return format("{} {} {}", ret.ret.text(), ret.retcode, ret.success);
  }
  return "nothing";
}

constexpr std::size_t kPlenty = 1 << 20;

}  // namespace

TEST_CASE("jobs that would take more memory than they may do not start") {
  Jobs jobs(memory(), system_clock(), nullptr, 100);
  returner::Load large = load_of(kJid);
  large.metadata = Json::string(std::string(60, 'x'));
  const auto first = std::make_shared<RunningJob>(large, "", [](const returner::Load&, std::size_t) {});
  large.jid = "20260101000000000001";
  const auto second = std::make_shared<RunningJob>(large, "", [](const returner::Load&, std::size_t) {});
  REQUIRE(jobs.start(first, returner::Durability::grouped, {}));
  const Result<void> refused = jobs.start(second, returner::Durability::grouped, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::unavailable);
  CHECK(refused.error().message.find("max_queued_bytes") != std::string::npos);
  for (std::size_t call = 0; call < large.minions.size(); ++call) jobs.finish(*first, call);
  CHECK(jobs.start(second, returner::Durability::grouped, {}));
}

TEST_CASE("what has to be durable and is not, does not run") {
  const test::CapturedLog log;
  Jobs jobs(returner::Returners::of("full", std::make_unique<FullCache>()), system_clock(), nullptr, kPlenty);
  const Result<void> started = jobs.start(job_of(kJid), returner::Durability::durable, {});
  REQUIRE_FALSE(started);
  CHECK(started.error().kind == ErrorKind::unavailable);
  CHECK(started.error().message == "The job cannot be kept, and was not started: the disk is full");
  CHECK(jobs.active().empty());
}

TEST_CASE("a job that is waited for runs although it cannot be kept, and the log says so once") {
  const test::CapturedLog log;
  auto cache = std::make_unique<FullCache>();
  FullCache& full = *cache;
  Jobs jobs(returner::Returners::of("full", std::move(cache)), system_clock(), nullptr, kPlenty);
  CHECK(jobs.start(job_of(kJid), returner::Durability::grouped, {}));
  jobs.record(kJid, {"ms-0", Json::boolean(true), 0, true, ""}, {});
  const std::string text = log.text();
  CHECK(text.find("the load of job " + std::string(kJid) + " is not in the job cache") != std::string::npos);
  CHECK(text.find("a return of job") == std::string::npos);
  full.has_room = true;
  jobs.record(kJid, {"ms-1", Json::boolean(true), 0, true, ""}, {});
  CHECK_FALSE(log.has("the job cache works again"));
  REQUIRE(jobs.save(load_of(kJid), returner::Durability::durable, {}));
  CHECK(log.has("the job cache works again"));
}

TEST_CASE("of a whole job that cannot be kept, the log says so, and other returners get it all the same") {
  const test::CapturedLog log;
  Jobs jobs(returner::Returners::of("full", std::make_unique<FullCache>()), system_clock(), nullptr, kPlenty);
  const auto other = returner::make_memory_returner({}, system_clock());
  const std::vector<master::Return> returns{{"ms-0", Json::boolean(true), 3, false, "nested"},
                                            {"ms-1", Json::boolean(true), 0, true, ""}};
  jobs.keep(load_of(kJid), returns, {other.get()}, {});
  CHECK(log.has("all of job " + std::string(kJid) + " is not in the job cache: the disk is full"));
  const std::vector<returner::JobReturn> kept = *other->get_jid(kJid);
  REQUIRE(kept.size() == 2);
  CHECK(kept[0].ret.text() == "true");
  CHECK(kept[0].retcode == 3);
  CHECK_FALSE(kept[0].success);
  CHECK(kept[0].out == "nested");
}

TEST_CASE("returners that a job names have to be there") {
  Jobs jobs(memory(), system_clock(), nullptr, kPlenty);
  CHECK(jobs.check_returners(""));
  CHECK(jobs.check_returners("memory"));
  CHECK(jobs.check_returners(" memory , memory"));
  const Result<void> refused = jobs.check_returners("memory,smtp");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::invocation);
  CHECK(refused.error().message == "'ret' names the returner 'smtp'; those here are memory.");
  CHECK(jobs.also_for("memory").empty());  // it gets them in any case
}

TEST_CASE("the returns go to ext_job_cache, and to what ret names, as well") {
  const test::TempDir dir;
  returner::Options options;
  options.sqlite3.database = dir / "jobs.db";
  SUBCASE("ext_job_cache") {
    options.ext_job_cache = {"sqlite3"};
  }
  SUBCASE("ret") {}
  auto returners = returner::Returners::make(options, system_clock());
  REQUIRE(returners);
  Jobs jobs(*std::move(returners), system_clock(), nullptr, kPlenty);
  const Jobs::Also also = jobs.also_for(options.ext_job_cache.empty() ? "sqlite3,memory" : "");
  REQUIRE(also.size() == 1);
  REQUIRE(jobs.save(load_of(kJid), returner::Durability::grouped, also));
  jobs.record(kJid, {"ms-0", Json::boolean(true), 0, true, ""}, also);
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

TEST_CASE("what a process left that is gone is recorded as interrupted, and its file removed") {
  const test::CapturedLog log;
  const test::TempDir dir;
  leave_orphan(dir, load_of(kJid));
  Jobs jobs(memory(), system_clock(), *ProcDir::open(dir.path()), kPlenty);
  const std::string expected = "\"Job interrupted: the process that ran it is gone.\" 1 false";
  CHECK(returned(jobs, "ms-0") == expected);
  CHECK(returned(jobs, "ms-1") == expected);
  CHECK(log.has("2 of its 2 returns are missing"));
  CHECK(shown_in(dir) == 0);
}

TEST_CASE("of a job that was interrupted, the returns that came before stay") {
  const test::CapturedLog log;
  const test::TempDir dir;
  Jobs jobs(memory(), system_clock(), *ProcDir::open(dir.path()), kPlenty);
  REQUIRE(jobs.save(load_of(kJid), returner::Durability::grouped, {}));
  jobs.record(kJid, {"ms-0", Json::boolean(true), 0, true, ""}, {});
  leave_orphan(dir, load_of(kJid));
  CHECK(jobs.active().empty());
  CHECK(returned(jobs, "ms-0") == "true 0 true");
  CHECK(returned(jobs, "ms-1").find("Job interrupted") != std::string::npos);
}

TEST_CASE("an interrupted runner's return is its event") {
  const test::CapturedLog log;
  const test::TempDir dir;
  Jobs jobs(memory(), system_clock(), *ProcDir::open(dir.path()), kPlenty);
  // It may have run in another container, where the host has another name.
  returner::Load runner = load_of(kJid, {"elsewhere_master"});
  runner.fun = Json::string("runner.test.sleep");
  leave_orphan(dir, runner);
  CHECK(jobs.active().empty());
  const std::string event = returned(jobs, "elsewhere_master");
  CHECK(event.find("{\"fun\": \"runner.test.sleep\", \"jid\": ") == 0);
  CHECK(event.find("is gone.\", \"success\": false}") != std::string::npos);
}

TEST_CASE("a minion that is called as a master's is a minion") {
  const test::CapturedLog log;
  const test::TempDir dir;
  Jobs jobs(memory(), system_clock(), *ProcDir::open(dir.path()), kPlenty);
  leave_orphan(dir, load_of(kJid, {jobs.master_id()}));
  CHECK(jobs.active().empty());
  CHECK(returned(jobs, jobs.master_id()).starts_with("\"Job interrupted"));
}

TEST_CASE("what cannot be recorded as interrupted is left for later") {
  const test::CapturedLog log;
  const test::TempDir dir;
  leave_orphan(dir, load_of(kJid));
  Jobs jobs(returner::Returners::of("full", std::make_unique<FullCache>()), system_clock(),
            *ProcDir::open(dir.path()), kPlenty);
  CHECK(shown_in(dir) == 1);
  CHECK(log.has("the disk is full"));
}

TEST_CASE("a shutdown says of a job cache that it could not keep all") {
  const auto runtime = embedded::make_runtime(
      {}, returner::Returners::of("full", std::make_unique<FullCache>()), system_clock());
  REQUIRE(runtime);
  const test::CapturedLog log;
  CHECK((*runtime)->shutdown(system_clock().steady()) == 0);
  CHECK(log.has("the disk is full"));
}

TEST_CASE("who waits for a runner that the job cache does not serve reads why, with the runner's jid") {
  test::EmbeddedEngine engine;
  const auto runtime = embedded::make_runtime(
      {}, returner::Returners::of("full", std::make_unique<FullCache>()), system_clock());
  REQUIRE(runtime);
  engine.runtime = *runtime;
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

TEST_CASE("two processes see each other's jobs, and can stop them") {
  const test::TempDir dir;
  Jobs jobs(memory(), system_clock(), *ProcDir::open(dir.path()), kPlenty);
  const auto other = ProcDir::open(dir.path());
  REQUIRE(other);
  REQUIRE((*other)->add(load_of(kJid), "sqlite3"));
  const std::vector<ActiveJob> active = jobs.active();
  REQUIRE(active.size() == 1);
  CHECK(active[0].pid == ::getpid());
  CHECK(active[0].running == std::vector<std::string>{"ms-0", "ms-1"});
  CHECK(active[0].ret == "sqlite3");
  const auto stopped = jobs.stop(kJid, "ms-1");
  REQUIRE(stopped);
  CHECK(*stopped == std::optional<pid_t>(::getpid()));
  const auto marks = (*other)->take_marks();
  REQUIRE(marks.size() == 1);
  CHECK(marks[0].call == 1);
  CHECK_FALSE(jobs.stop(kJid, "nosuch")->has_value());
  CHECK_FALSE(jobs.stop("20261120230610043747", "ms-1")->has_value());
}

TEST_CASE("a mark of another process stops a call within a second or so") {
  const test::TempDir dir;
  Jobs jobs(memory(), system_clock(), *ProcDir::open(dir.path()), kPlenty);
  const auto job = job_of(kJid);
  REQUIRE(jobs.start(job, returner::Durability::grouped, {}));
  const auto other = ProcDir::open(dir.path());
  REQUIRE(other);
  REQUIRE((*other)->mark((*other)->others().at(0), 1));
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!job->stop_token(1).stop_requested() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  CHECK(job->stop_token(1).stop_requested());
  CHECK_FALSE(job->stop_token(0).stop_requested());
  jobs.finish(*job, 0);
  CHECK(shown_in(dir) == 1);
  jobs.finish(*job, 1);
  CHECK(shown_in(dir) == 0);
}

TEST_CASE("where no thread can be had to look for marks, a job runs, and the next one's start tries again") {
  const test::CapturedLog log;
  const test::TempDir dir;
  Jobs jobs(memory(), system_clock(), *ProcDir::open(dir.path()), kPlenty);
  {
    const test::NoThreads none;
    CHECK(jobs.start(job_of(kJid), returner::Durability::grouped, {}));
  }
  CHECK(log.has("jobs cannot be stopped by other processes: no thread can be started: "));
  const auto second = job_of("20261120230610043747");
  REQUIRE(jobs.start(second, returner::Durability::grouped, {}));
  const auto other = ProcDir::open(dir.path());
  REQUIRE(other);
  for (const ProcDir::Entry& entry : (*other)->others()) REQUIRE((*other)->mark(entry, 0));
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!second->stop_token(0).stop_requested() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  CHECK(second->stop_token(0).stop_requested());
}

TEST_CASE("a job that cannot be shown runs all the same") {
  const test::CapturedLog log;
  const test::TempDir dir;
  Jobs jobs(memory(), system_clock(), *ProcDir::open(dir / "proc"), kPlenty);
  std::filesystem::remove_all(dir / "proc");
  CHECK(jobs.start(job_of(kJid), returner::Durability::grouped, {}));
  CHECK(log.has("is not shown to other processes: No such file"));
  CHECK(jobs.active().size() == 1);
}

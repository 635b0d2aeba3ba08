// SPDX-License-Identifier: MIT
#include "master/embedded/events/announcer.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/captured_log.h"
#include "../../../support/embedded_engine.h"
#include "../../../support/holds.h"
#include "../jobs/job_fixture.h"
#include "master/embedded/jobs/jobs.h"

using namespace rest_fcgi;
using test::EmbeddedEngine;
using test::holds;

namespace {

using Reader = std::unique_ptr<master::EventReader>;

const master::EventPermit kAll{auth::EventScope::all, "fred"};

Reader listen(EmbeddedEngine& engine, const master::EventPermit& permit = kAll) {
  auto reader = engine.master->events(permit, {});
  REQUIRE(reader);
  return *std::move(reader);
}

std::vector<master::EventPtr> read(master::EventReader& reader, std::size_t count = 0) {
  std::vector<master::EventPtr> events;
  CHECK(test::eventually([&] {
    if (const auto done = reader.read(events, 1 << 20, nullptr); !done) FAIL(done.error().message);
    return events.size() >= count;
  }));
  return events;
}

/// Returns an event's data with `S` as the value of `_stamp` and `T` as the value of `ts`.
std::string data_of(const master::Event& event) {
  std::string data(event.data());
  constexpr std::string_view kStamp = R"("_stamp": ")";
  REQUIRE(holds(data, kStamp));
  const std::size_t begin = data.find(kStamp) + kStamp.size();
  const std::size_t size = std::string_view("2026-11-21T00:19:12.259579").size();
  CHECK(data.find_first_not_of("0123456789-T:.", begin) == begin + size);
  data.replace(begin, size, "S");
  if (const std::size_t ts = data.find(R"("ts": 1)"); ts != std::string::npos) {
    data.replace(ts + 6, data.find_first_not_of("0123456789", ts + 6) - ts - 6, "T");
  }
  return data;
}

std::string tags(const std::vector<master::EventPtr>& events) {
  std::string all;
  for (const master::EventPtr& event : events) all += event->tag() + "\n";
  return all;
}

}  // namespace

TEST_CASE("the runner event.send fires an event") {
  EmbeddedEngine engine;
  const Reader reader = listen(engine);
  CHECK(engine.runner(R"("fun": "event.send", "tag": "my/tag", "data": {"a": 1})").ret.text() == "true");
  engine.runner(R"("fun": "event.send", "arg": ["my/other", "{b: 2}"])");
  std::string own;
  for (const master::EventPtr& event : read(*reader)) {
    if (event->tag().starts_with("my/")) own += format("{} {} ", event->tag(), data_of(*event));
  }
  CHECK(own == R"(my/tag {"a": 1, "_stamp": "S"} my/other {"b": 2, "_stamp": "S"} )");
}

TEST_CASE("a job has Salt's events: new, and one for each return") {
  EmbeddedEngine engine;
  const Reader reader = listen(engine);
  const auto [job, returns] = engine.publish(
      R"("client": "local", "tgt": ["ms-0", "nosuch", "ms-2"], "tgt_type": "list", "fun": "test.arg", )"
      R"("arg": ["a", 1], "kwarg": {"b": {"c": [1]}}, "metadata": {"m": 1})");
  const auto events = read(*reader);
  const std::string tag = "salt/job/" + job.jid;
  REQUIRE(tags(events) == format("{0}/new\n{0}/ret/ms-0\n{0}/ret/ms-2\n", tag));
  CHECK(data_of(*events[0]) ==
        format(R"({{"jid": "{}", "tgt_type": "list", "tgt": ["ms-0", "nosuch", "ms-2"], "user": "fred", )"
               R"("fun": "test.arg", "arg": ["a", 1, {{"b": {{"c": [1]}}, "__kwarg__": true}}], )"
               R"("minions": ["ms-0", "ms-2"], "missing": ["nosuch"], "_stamp": "S"}})",
               job.jid));
  CHECK(
      data_of(*events[1]) ==
      format(R"({{"cmd": "_return", "id": "ms-0", "success": true, "return": {}, "retcode": 0, "jid": "{}", )"
             R"("fun": "test.arg", "fun_args": ["a", 1, {{"b": {{"c": [1]}}}}], "user": "fred", )"
             R"("metadata": {{"m": 1}}, "_stamp": "S", "ts": T}})",
             returns.at("ms-0").ret.text(), job.jid));
  for (const auto& event : events) CHECK(event->user() == "fred");
}

TEST_CASE("a listener with the scope own gets no events of other users' jobs") {
  EmbeddedEngine engine;
  const Reader ann = listen(engine, {auth::EventScope::own, "ann"});
  const Reader fred = listen(engine, {auth::EventScope::own, "fred"});
  (void)engine.publish(R"("client": "local", "tgt": "ms-0", "fun": "test.ping")");
  (void)engine.runner(R"("fun": "test.arg")");
  REQUIRE(engine.master->fire_event("x", Json::empty_object(), nullptr, EmbeddedEngine::soon()));
  CHECK(read(*ann).empty());
  CHECK(read(*fred).size() == 4);
}

TEST_CASE("events of a compound job have maps by function") {
  EmbeddedEngine engine;
  const Reader reader = listen(engine);
  const auto [job, returns] = engine.publish(
      R"("client": "local", "tgt": "ms-0", "fun": ["test.ping", "nosuch.fun"], "arg": [[], ["token=abc"]])");
  const auto events = read(*reader);
  REQUIRE(events.size() == 2);
  CHECK(holds(data_of(*events[0]), R"("fun": ["test.ping", "nosuch.fun"], "arg": [[], ["token=[hidden]"]])"));
  CHECK(holds(data_of(*events[1]),
              R"("success": {"test.ping": true, "nosuch.fun": false}, )"
              R"("return": {"test.ping": true, "nosuch.fun": "'nosuch.fun' is not available."}, )"
              R"("retcode": {"test.ping": 0, "nosuch.fun": )"));
  CHECK(returns.at("ms-0").retcode != 0);
  CHECK_FALSE(returns.at("ms-0").success);
}

TEST_CASE("an asynchronous job is saved at once, and starts when its gate is destroyed") {
  EmbeddedEngine engine;
  const Reader reader = listen(engine);
  auto job = engine.master->publish_async(
      engine.permit(R"("client": "local_async", "tgt": "ms-0", "fun": "test.ping")"));
  auto runner = engine.master->runner_async(engine.permit(R"("client": "runner_async", "fun": "manage.up")"));
  REQUIRE(job);
  REQUIRE(runner);
  CHECK(holds(engine.runner(R"("fun": "jobs.list_jobs")").ret.text(), job->jid));
  CHECK_FALSE(holds(tags(read(*reader)), job->jid));
  job->gate.reset();
  CHECK(tags(read(*reader, 2)) == format("salt/job/{0}/new\nsalt/job/{0}/ret/ms-0\n", job->jid));
  runner->gate.reset();
  CHECK(tags(read(*reader, 2)) == format("{0}/new\n{0}/ret\n", runner->tag));
}

TEST_CASE("an interrupted job has an event for each return") {
  EmbeddedEngine engine;
  const test::CapturedLog log;
  const Reader reader = listen(engine);
  const std::string jid = engine.start_sleep("ms-0");
  const std::string tag = engine.start_runner(R"("fun": "test.sleep", "arg": [600])").tag;
  CHECK(engine.runtime->shutdown(std::chrono::steady_clock::now()) == 2);
  const auto events = read(*reader);
  REQUIRE(events.size() == 4);
  CHECK(holds(tags(events), format("salt/job/{}/ret/ms-0\n", jid)));
  CHECK(holds(tags(events), tag + "/ret\n"));
  for (const std::size_t i : {2U, 3U}) CHECK(holds(events[i]->data(), "the engine shut down"));
}

TEST_CASE("a job of a process that died has its events once") {
  const test::CapturedLog log;
  const auto events = std::make_shared<master::EventLog>(system_clock());
  const auto reader = events->reader(kAll);
  REQUIRE(reader);
  const std::shared_ptr<store::Store> store = *store::Store::open({});
  embedded::Jobs jobs(*returner::Returners::make({}, store, system_clock()), store, system_clock(), {},
                      std::make_shared<embedded::Announcer>(events, system_clock()));
  test::leave_orphan(store, test::load_of("20261120230610043746"));
  returner::Load runner = test::load_of("20261120230610043747", {jobs.master_id()});
  runner.fun = Json::string("runner.test.sleep");
  test::leave_orphan(store, runner);
  for (int look = 0; look < 2; ++look) CHECK(jobs.active().empty());
  const auto all = read(**reader);
  CHECK(tags(all) ==
        "salt/job/20261120230610043746/new\nsalt/job/20261120230610043746/ret/ms-0\n"
        "salt/job/20261120230610043746/ret/ms-1\nsalt/run/20261120230610043747/new\n"
        "salt/run/20261120230610043747/ret\n");
  CHECK(holds(all.at(1)->data(), "is gone"));
  CHECK(all.at(1)->user() == "fred");
}

TEST_CASE("runners and wheels have Salt's events") {
  EmbeddedEngine engine;
  const Reader reader = listen(engine);
  (void)engine.runner(R"("fun": "test.arg", "arg": ["a"], "b": 1)");
  const auto wheel =
      engine.master->wheel(engine.permit(R"("client": "wheel", "fun": "key.list", "match": "pre")"));
  REQUIRE(wheel);
  const auto events = read(*reader);
  const std::string run = engine.last_started.jid;
  REQUIRE(tags(events) ==
          format("salt/run/{0}/new\nsalt/run/{0}/ret\nsalt/wheel/{1}/new\nsalt/wheel/{1}/ret\n", run,
                 wheel->jid));
  const std::string call = format(
      R"({{"fun": "runner.test.arg", "jid": "{}", "user": "fred", "fun_args": ["a", {{"b": 1}}], "_stamp": "S")",
      run);
  CHECK(data_of(*events[0]) == call + "}");
  CHECK(data_of(*events[1]) == call + R"(, "return": {"args": ["a"], "kwargs": {"b": 1}}, "success": true})");
  CHECK(data_of(*events[3]) ==
        format(R"({{"fun": "wheel.key.list", "jid": "{}", "user": "fred", "fun_args": [{{"match": "pre"}}], )"
               R"("_stamp": "S", "return": {{"minions_pre": []}}, "success": true}})",
               wheel->jid));
}

TEST_CASE("secrets are hidden in events") {
  constexpr std::string_view kCanary = "canary-4711";
  EmbeddedEngine engine;
  const Reader reader = listen(engine);
  const std::string secrets =
      R"("arg": ["true", "token=canary-4711", {"deep": [{"Client-Secret": "canary-4711", "key": "shown"}]}], )"
      R"("kwarg": {"token": "canary-4711", "eauth": "canary-4711", "PASSWORD": ["canary-4711"], "connection_pass": {"a": "canary-4711"}}, )"
      R"("metadata": {"sharedkey": "canary-4711"})";
  (void)engine.publish(R"("client": "local", "tgt": "ms-0", "fun": "test.arg_type", )" + secrets);
  (void)engine.runner(
      R"("fun": "test.metasyntactic", "arg": ["token=canary-4711"], "kwarg": {"api_key": "canary-4711"})");
  const auto made =
      engine.master->wheel(engine.permit(R"("client": "wheel", "fun": "key.gen_accept", "id_": "ms-9")"));
  REQUIRE(made);
  CHECK(holds(made->reply.text(), "PRIVATE KEY"));
  (void)engine.runner(R"("fun": "test.arg", "arg": ["token=canary-4711", {"priv": [1], "is_secret": true}])");
  REQUIRE(engine.master->fire_event(
      "salt/netapi/hook/x",
      Json::trusted(
          R"({"body": "{\"a\": 1, \"password\": \"canary-4711\"}", "token": "canary-4711", )"
          R"("post": {"a": 1, "password": "canary-4711"}, "headers": {"X-Auth-Token": "canary-4711"}, )"
          R"("form": {"{\"token\": \"canary-4711\"}": ""}})"),
      nullptr, EmbeddedEngine::soon()));
  const auto events = read(*reader);
  REQUIRE(events.size() == 9);
  std::string all;
  for (const master::EventPtr& event : events) all += event->block();
  CHECK_FALSE(holds(all, kCanary));
  CHECK_FALSE(holds(all, "PRIVATE KEY"));
  CHECK(holds(all, R"("token=[hidden]", {"deep": [{"Client-Secret": "[hidden]", "key": "shown"}]})"));
  CHECK(data_of(*events[5]).ends_with(R"("return": "[hidden]", "success": true})"));
  CHECK(holds(events[7]->data(), R"("return": {"args": [{"priv": "[hidden]", "is_secret": true}], )"
                                 R"("kwargs": {"token": "[hidden]"}})"));
  CHECK(data_of(*events[8]) ==
        R"({"body": "{\"a\": 1, \"password\": \"[hidden]\"}", "token": "[hidden]", )"
        R"("post": {"a": 1, "password": "[hidden]"}, "headers": {"X-Auth-Token": "[hidden]"}, )"
        R"("form": {"{\"token\": \"[hidden]\"}": ""}, "_stamp": "S"})");
}

TEST_CASE("a reload announces new and removed minions") {
  embedded::Options options;
  options.minions = {{.id = "a"}};
  EmbeddedEngine engine(options);
  const Reader reader = listen(engine);
  const auto reload = [&] {
    engine.master = engine.reloaded(options);
    CHECK(read(*reader).empty());
    engine.runtime->announce_minions();
    return read(*reader);
  };
  options.minions.push_back({.id = "b"});
  const auto events = reload();
  REQUIRE(tags(events) == "salt/auth\nminion_start\nsalt/minion/b/start\n");
  CHECK(data_of(*events[0]) == R"({"result": true, "act": "accept", "id": "b", "pub": "", "_stamp": "S"})");
  CHECK(data_of(*events[1])
            .starts_with(
                R"({"id": "b", "cmd": "_minion_event", "pretag": null, "data": "Minion b started at )"));
  CHECK(data_of(*events[1]).ends_with(R"("tag": "minion_start", "_stamp": "S", "ts": T})"));
  CHECK(reload().empty());
  options.minions.erase(options.minions.begin());
  const auto gone = reload();
  REQUIRE(tags(gone) == "salt/key\n");
  CHECK(data_of(*gone[0]) == R"({"result": true, "act": "delete", "id": "a", "_stamp": "S"})");
}

namespace {

/// A job cache of several hosts. The test acts as the other hosts.
class SharedCache : public test::FailingCache {
 public:
  Result<std::unique_ptr<returner::Watch>> watch(returner::ClusterListener& its_listener) override {
    listener = &its_listener;
    return std::unique_ptr<returner::Watch>(new CacheWatch(*this));
  }

  returner::ClusterListener* listener = nullptr;
  std::string published;
  bool is_down = false;

 private:
  struct CacheWatch : returner::Watch {
    explicit CacheWatch(SharedCache& its_cache) : cache(its_cache) {}
    Result<void> start(SteadyTime) override {
      if (cache.is_down) return Error{ErrorKind::unavailable, "no member answers"};
      return {};
    }
    void publish(std::string_view tag, const Json&, std::string_view user) override {
      cache.published += format("{} {}\n", tag, user);
    }
    SharedCache& cache;
  };
};

}  // namespace

TEST_CASE("events of a watched job cache are announced once") {
  SharedCache cache;
  const auto log = std::make_shared<master::EventLog>(system_clock());
  embedded::Announcer announcer(log, system_clock());
  announcer.watch(cache);
  REQUIRE(cache.listener != nullptr);
  CHECK_FALSE(cache.listener->wanted());
  const auto reader = announcer.reader(kAll, {});
  REQUIRE(reader);
  CHECK(cache.listener->wanted());

  const returner::Load load = test::load_of("20261120230610043746", {"ms-0"});
  returner::Load run = load;
  run.jid = "20261120230610043747";
  run.fun = Json::string("runner.test.arg");
  run.minions = {"other_master"};
  announcer.job_new(load, {});
  announcer.job_ret(load, {"ms-0", Json::boolean(true), 0, true, ""});
  announcer.master_new(run, embedded::InJobCache::yes);
  announcer.master_ret(run, Json::boolean(true), true, embedded::InJobCache::yes);
  CHECK(read(**reader).empty());
  announcer.master_new(run, embedded::InJobCache::no);
  announcer.fire("x", JsonValue());
  CHECK(cache.published == "salt/run/20261120230610043747/new fred\nx \n");
  CHECK(read(**reader).size() == 2);

  cache.listener->job(load);
  cache.listener->returned(load, {"ms-0", Json::boolean(true), 0, true, "nested"});
  cache.listener->returned(
      run, {"other_master", Json::trusted(R"({"fun": "runner.test.arg", "return": [1], "success": false})"),
            1, false, ""});
  cache.listener->event("y", Json::empty_object(), "bob");
  const auto events = read(**reader);
  REQUIRE(tags(events) ==
          "salt/job/20261120230610043746/new\nsalt/job/20261120230610043746/ret/ms-0\n"
          "salt/run/20261120230610043747/ret\ny\n");
  CHECK(holds(events[1]->data(), R"("retcode": 0, "out": "nested")"));
  CHECK(holds(events[2]->data(), R"("return": [1], "success": false, "retcode": 1})"));
  CHECK(events[3]->user() == "bob");
  cache.listener->lost("the cluster was away");
  std::vector<master::EventPtr> rest;
  CHECK((*reader)->read(rest, 1 << 20, nullptr).error().message == "the cluster was away");
  cache.is_down = true;
  CHECK(announcer.reader(kAll, {}).error().message == "no member answers");
}

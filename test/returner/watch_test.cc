// SPDX-License-Identifier: MIT
#include "returner/etcd/watch.h"

#include <chrono>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/door.h"
#include "../support/eventually.h"
#include "caches.h"
#include "etcd_caches.h"
#include "heard.h"
#include "rest_fcgi/returner/returner.h"

namespace rest_fcgi::returner {
namespace {

using std::chrono::milliseconds;
using Lines = Heard::Lines;

/// The changes and errors that the fake `ScriptedChanges` returns. Thread-safe.
struct Script {
  std::mutex mutex;
  std::vector<Result<std::vector<EtcdChange>>> next;
  std::optional<Error> no_begin;
  test::Door* begin_door = nullptr;
  int begun = 0;

  void say(Result<std::vector<EtcdChange>> one) {
    const std::lock_guard lock(mutex);
    next.push_back(std::move(one));
  }
};

class ScriptedChanges : public EtcdChanges {
 public:
  explicit ScriptedChanges(std::shared_ptr<Script> script) : script_(std::move(script)) {}

  Result<void> begin(etcd::Deadline) override {
    {
      const std::lock_guard lock(script_->mutex);
      ++script_->begun;
    }
    if (script_->begin_door != nullptr) script_->begin_door->pass();
    const std::lock_guard lock(script_->mutex);
    return script_->no_begin ? Result<void>(*script_->no_begin) : Result<void>();
  }
  Result<std::vector<EtcdChange>> next(etcd::Deadline deadline) override {
    {
      const std::lock_guard lock(script_->mutex);
      if (!script_->next.empty()) {
        auto one = std::move(script_->next.front());
        script_->next.erase(script_->next.begin());
        return one;
      }
    }
    std::this_thread::sleep_until(deadline);
    return std::vector<EtcdChange>();
  }
  Result<std::optional<std::string>> value_at(const std::string&, std::int64_t, etcd::Deadline) override {
    return std::optional<std::string>();
  }

 private:
  const std::shared_ptr<Script> script_;
};

struct Scripted {
  Options options = etcd_options();
  std::shared_ptr<FakeEtcd> etcd = std::make_shared<FakeEtcd>();
  std::shared_ptr<Script> script = std::make_shared<Script>();
  std::shared_ptr<EtcdLosses> losses = std::make_shared<EtcdLosses>();
  Heard heard;
  std::unique_ptr<Watch> watch =
      make_etcd_watch(options.etcd, "me", std::make_unique<ScriptedChanges>(script),
                      std::make_unique<FakeEtcdStore>(etcd), losses, heard);
  void start() const { REQUIRE(watch->start(watch_deadline())); }
  void publish() const { watch->publish("a", Json::trusted("{}"), ""); }
};

const std::string kFolder = "/salt/return/";
const std::string kOwnEvents = kFolder + "events/me";

Error error_of(ErrorKind kind, const std::string& text) {
  return {kind, text};
}

TEST_CASE("a failed start returns the cause, and may be repeated after a second") {
  const Scripted host;
  const auto starts_with = [&](std::string_view message) {
    const Result<void> started = host.watch->start(watch_deadline());
    return (started ? "" : started.error().message) == message;
  };
  host.script->no_begin = error_of(ErrorKind::authorization, "no right");
  CHECK(starts_with("no right"));
  host.script->no_begin.reset();
  host.etcd->fail(error_of(ErrorKind::unavailable, "no member"));
  CHECK(test::eventually([&] { return starts_with("no member"); }));
  host.etcd->fail({});
  CHECK(test::eventually([&] { return starts_with(""); }));
}

TEST_CASE("a second start does not wait long for the first") {
  test::Door door;
  const Scripted host;
  host.script->begin_door = &door;
  auto first = std::async(std::launch::async, [&] { return host.watch->start(watch_deadline()); });
  CHECK(door.waiting(1) == 1);
  const Error refused = host.watch->start(watch_deadline()).error();
  CHECK(refused.kind == ErrorKind::unavailable);
  CHECK(refused.message == "etcd does not answer");
  door.open();
  CHECK(first.get());
  host.start();
  CHECK(host.script->begun == 1);
}

TEST_CASE("a loss before the start is not reported") {
  Scripted host;
  host.losses->report();
  host.start();
  CHECK(host.heard.lines(1, milliseconds(600)).empty());
  host.losses->report();
  CHECK(host.heard.lines(1) == Lines{"lost etcd refused a job or return"});
}

TEST_CASE("compacted changes are reported as lost once, and the watch begins again") {
  const test::CapturedLog log;
  Scripted host;
  host.start();
  host.script->say(error_of(ErrorKind::invocation, "compacted"));
  CHECK(host.heard.lines(1) == Lines{"lost compacted"});
  CHECK(host.script->begun == 2);
  CHECK(host.heard.lines(2, milliseconds(500)).size() == 1);
  CHECK(log.has("compacted"));
}

TEST_CASE("an unreachable cluster loses nothing, and a refusal is reported as a loss") {
  const test::CapturedLog log;
  Scripted host;
  host.start();
  for (int i = 0; i < 2; ++i) host.script->say(error_of(ErrorKind::unavailable, "away"));
  CHECK(host.heard.lines(1, milliseconds(600)).empty());
  host.script->say(std::vector<EtcdChange>{{"/x", "", true, false, 1}});
  for (int i = 0; i < 2; ++i) host.script->say(error_of(ErrorKind::authorization, "no right"));
  CHECK(host.heard.lines(1) == Lines{"lost no right"});
  CHECK(host.heard.lines(2, milliseconds(600)).size() == 1);
  CHECK(log.has("the watch failed: away"));
  CHECK(log.has("works again"));
}

TEST_CASE("a malformed event is lost, and own and repeated events are ignored") {
  Scripted host;
  host.start();
  const std::string events = "/salt/return/events/";
  const std::string value =
      R"({"number": "1", "events": [{"tag": "a", "user": "", "data": {}}, {"tag": "b"}]})";
  host.script->say(std::vector<EtcdChange>{{events + "me", value, true, false, 1},
                                           {events + "other", value, true, false, 1},
                                           {events + "other", value, false, true, 1},
                                           {events + "other", "no JSON", false, false, 1}});
  CHECK(host.heard.lines(2) == Lines{"event a {} ", "lost malformed event of another host"});
}

TEST_CASE("a stop sends waiting events, and does not wait for an unreachable cluster") {
  const test::CapturedLog log;
  Scripted there;
  there.etcd->put(kFolder + "listeners/other", "");
  there.publish();
  there.watch.reset();
  CHECK(there.etcd->map().contains(kOwnEvents));

  Scripted away;
  away.etcd->fail(error_of(ErrorKind::unavailable, "away"));
  away.publish();
  const auto ends = std::async(std::launch::async, [&] { away.watch.reset(); });
  CHECK(ends.wait_for(std::chrono::seconds(5)) == std::future_status::ready);
  away.etcd->fail({});
}

TEST_CASE("events are sent again unchanged after a lost answer") {
  const test::CapturedLog log;
  const Scripted host;
  host.etcd->put(kFolder + "listeners/other", "");
  host.etcd->lose_next_answer(error_of(ErrorKind::timeout, "no answer"));
  host.publish();
  const auto writes = [&](std::size_t count) {
    return test::eventually([&] { return host.etcd->transactions().size() >= count; });
  };
  REQUIRE(writes(1));
  const std::string told = host.etcd->map().at(kOwnEvents);
  CHECK(told.find(R"("tag": "a")") != std::string::npos);
  REQUIRE(writes(2));
  CHECK(host.etcd->map().at(kOwnEvents) == told);
  host.publish();
  REQUIRE(writes(3));
  CHECK(host.etcd->map().at(kOwnEvents) > told);
}

const std::string kLoad = R"({"fun": "test.ping", "user": "fred", "tgt": "*"})";
const std::string kNewJob = "job " + kJid + " \"test.ping\" fred";
const std::string kReturned = "ret " + kJid + " \"test.ping\" fred m1 true";

struct ByHand {
  EtcdOptions options = [] {
    EtcdOptions v3;
    v3.require_v2 = false;
    return v3;
  }();
  EtcdLayout layout{options};
  Heard heard;
  SteadyTime now{std::chrono::hours(1)};
  std::map<std::string, std::string> stored{};
  std::optional<Error> look_up_error{};
  WatchedJobs jobs{options, heard, [this](const std::string& key, std::int64_t) {
                     if (look_up_error) return Result<std::optional<std::string>>(*look_up_error);
                     const auto found = stored.find(key);
                     return found == stored.end() ? Result<std::optional<std::string>>(std::nullopt)
                                                  : std::optional(found->second);
                   }};

  [[nodiscard]] EtcdChange load(bool is_new = true) const {
    return {layout.load(kJid), layout.encoded(kLoad), is_new, false, 5};
  }
  [[nodiscard]] EtcdChange field(const std::string& name, const std::string& text, bool same = false) const {
    return {layout.field(kJid, "m1", name), layout.encoded(text), !same, same, 5};
  }
  void take(const std::vector<EtcdChange>& changes) { jobs.take(changes, now); }
  void pass(milliseconds time) { jobs.settle(now += time); }
  Lines told() {
    Lines lines = heard.lines(0);
    heard.clear();
    return lines;
  }
};

TEST_CASE("a job and a return of one transaction are passed on at once") {
  ByHand etcd;
  etcd.take({etcd.load()});
  CHECK(etcd.told() == Lines{kNewJob});
  etcd.take({{etcd.layout.minion("m1"), kJid, true, false, 5},
             etcd.field("return", "true"),
             etcd.field("retcode", "3"),
             etcd.field("success", "false")});
  CHECK(etcd.told() == Lines{kReturned + " failed 3"});

  ByHand earlier;
  earlier.stored[earlier.layout.load(kJid)] = earlier.layout.encoded(kLoad);
  earlier.take({earlier.field("return", "true"), earlier.field("retcode", "0")});
  CHECK(earlier.told() == Lines{kReturned});
}

TEST_CASE("an unchanged return is passed on once, and a changed one again") {
  ByHand etcd;
  etcd.take({etcd.load()});
  etcd.take({etcd.field("return", "true"), etcd.field("retcode", "0")});
  etcd.take({etcd.field("return", "true", true), etcd.field("retcode", "0", true)});
  etcd.pass(milliseconds(20000));
  CHECK(etcd.told() == Lines{kNewJob, kReturned});
  etcd.take({etcd.field("return", "true", true), etcd.field("_stamp", "\"2026\"")});
  CHECK(etcd.told() == Lines{kReturned});
}

TEST_CASE("a return that is written key by key is passed on when it is complete") {
  ByHand etcd;
  etcd.take({etcd.load()});
  for (const char* name : {"cmd", "id", "success", "return", "retcode", "jid", "fun", "fun_args"}) {
    etcd.take({etcd.field(name, "true")});
  }
  CHECK(etcd.told() == Lines{kNewJob});
  etcd.take({etcd.field("_stamp", "\"2026\"")});
  CHECK(etcd.told() == Lines{kReturned});
}

TEST_CASE("incomplete fields with a return are passed on after a second") {
  ByHand etcd;
  etcd.take({etcd.load()});
  etcd.take({etcd.field("return", "true")});
  etcd.take({{etcd.layout.field(kJid, "m2", "out"), "\"x\"", true, false, 6}});
  etcd.pass(milliseconds(900));
  CHECK(etcd.told() == Lines{kNewJob});
  etcd.pass(milliseconds(200));
  CHECK(etcd.told() == Lines{kReturned});
  etcd.pass(milliseconds(20000));
  CHECK(etcd.told().empty());
}

TEST_CASE("a return waits for its load for a limited time") {
  ByHand etcd;
  etcd.take({etcd.field("return", "true"), etcd.field("fun", "\"test.echo\"")});
  etcd.pass(milliseconds(9000));
  CHECK(etcd.told().empty());
  etcd.take({etcd.load()});
  CHECK(etcd.told() == Lines{kNewJob, kReturned});

  ByHand without;
  without.take({without.field("return", "true"), without.field("fun", "\"test.echo\"")});
  without.pass(milliseconds(10000));
  CHECK(without.told() == Lines{"ret " + kJid + " \"test.echo\"  m1 true"});
}

TEST_CASE("a load that cannot be looked up is a loss, unless a later look-up succeeds") {
  ByHand etcd;
  etcd.look_up_error = Error{ErrorKind::timeout, "no answer"};
  const auto returns = [&] {
    for (const char* minion : {"m1", "m2"}) {
      etcd.take({{etcd.layout.field(kJid, minion, "return"), "1", true, false, 6},
                 {etcd.layout.field(kJid, minion, "retcode"), "0", true, false, 6}});
    }
    etcd.pass(milliseconds(9000));
    CHECK(etcd.told().empty());
  };
  const auto count = [&](const std::string& beginning) { return etcd.heard.count(beginning); };
  returns();
  etcd.pass(milliseconds(1000));
  CHECK(count("ret " + kJid + " \"unknown-function\"") == 2);
  CHECK(count("lost the load of job " + kJid + " cannot be read: no answer") == 1);
  CHECK(etcd.told().size() == 3);
  // When etcd answers again, the load of the job is found.
  returns();
  etcd.look_up_error.reset();
  etcd.stored[etcd.layout.load(kJid)] = etcd.layout.encoded(kLoad);
  etcd.pass(milliseconds(1000));
  CHECK(count("ret " + kJid + " \"test.ping\" fred") == 2);
  CHECK(etcd.told().size() == 2);
}

TEST_CASE("changes of other keys are ignored") {
  ByHand etcd;
  etcd.take({{etcd.layout.claim(kJid), "x", true, false, 5},
             {etcd.layout.jobs() + "no-jid/.load.p", etcd.layout.encoded(kLoad), true, false, 5},
             {etcd.layout.jobs() + kJid, "x", true, false, 5},
             {etcd.layout.job(kJid) + "m1/a/b", "x", true, false, 5},
             {etcd.layout.load(kJid), "no JSON", true, false, 5}});
  etcd.pass(milliseconds(20000));
  CHECK(etcd.told().empty());
}

TEST_CASE("the number of remembered loads is bounded") {
  ByHand etcd;
  const std::string large = R"({"fun": "test.ping", "user": "fred", "arg": [")" + std::string(1 << 20, 'x');
  for (int i = 10; i < 20; ++i) {
    const std::string jid = "202611202315001234" + std::to_string(i);
    etcd.take({{etcd.layout.load(jid), etcd.layout.encoded(large + "\"]}"), true, false, 5}});
  }
  const auto ret = [&](const std::string& jid) {
    etcd.take({{etcd.layout.field(jid, "m1", "return"), "1", true, false, 6},
               {etcd.layout.field(jid, "m1", "retcode"), "0", true, false, 6}});
    return etcd.heard.count("ret " + jid);
  };
  CHECK(ret("20261120231500123419") == 1);
  CHECK(ret("20261120231500123410") == 0);
}

}  // namespace
}  // namespace rest_fcgi::returner

// SPDX-License-Identifier: MIT
#include "returner/etcd/watch.h"

#include <chrono>
#include <future>
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
  test::Door* begin_door = nullptr;  ///< the door at which `ScriptedChanges::begin` waits, or null
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

}  // namespace

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

}  // namespace rest_fcgi::returner

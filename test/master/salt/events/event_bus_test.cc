// SPDX-License-Identifier: MIT
#include "master/salt/events/event_bus.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/captured_log.h"
#include "../../../support/fake_event_bus.h"
#include "../../../support/temp_dir.h"
#include "recorder.h"

namespace {

using namespace rest_fcgi;
using namespace rest_fcgi::salt;
using rest_fcgi::test::CapturedLog;
using rest_fcgi::test::event_frame;
using rest_fcgi::test::FakeEventBus;
using rest_fcgi::test::kBusLost;
using rest_fcgi::test::kPatience;
using rest_fcgi::test::Recorder;
using rest_fcgi::test::TempDir;

using Heard = std::vector<std::string>;
using SteadyClock = std::chrono::steady_clock;

void wait_until(const std::function<bool()>& holds) {
  const auto end = SteadyClock::now() + kPatience;
  while (!holds() && SteadyClock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  REQUIRE(holds());
}

std::unique_ptr<EventBus> started(
    BusOptions options,
    std::shared_ptr<master::EventLog> log = std::make_shared<master::EventLog>(system_clock())) {
  auto bus = EventBus::start(std::move(options), std::move(log));
  REQUIRE(bus);
  return *std::move(bus);
}

EventBus::Expectation expect_soon(EventBus& bus) {
  std::optional<EventBus::Expectation> made;
  wait_until([&] {
    if (made) return true;
    auto expectation = bus.expect();
    if (expectation) made.emplace(std::move(*expectation));
    return made.has_value();
  });
  return std::move(*made);
}

std::string ret(const std::string& jid, const std::string& minion) {
  return "salt/job/" + jid + "/ret/" + minion;
}

struct Joined {
  explicit Joined(Framing framing = Framing::bare, BusOptions options = {})
      : master(dir / "bus.ipc", framing), bus(started(with_path(std::move(options)), log)) {}

  BusOptions with_path(BusOptions options) const {
    options.path = dir / "bus.ipc";
    options.rejoin_pause = std::chrono::milliseconds(2);
    return options;
  }

  std::shared_ptr<Recorder> listen(const std::string& jid) {
    auto listener = std::make_shared<Recorder>();
    CHECK(expect_soon(*bus).listen(jid, listener));
    return listener;
  }

  TempDir dir;
  FakeEventBus master;
  std::shared_ptr<master::EventLog> log = std::make_shared<master::EventLog>(system_clock());
  std::unique_ptr<EventBus> bus;
};

TEST_CASE("returns in both framings reach their listener") {
  for (const Framing framing : {Framing::bare, Framing::with_length}) {
    Joined joined(framing);
    const auto listener = joined.listen("1");
    joined.master.send(ret("2", "m"), "x");
    joined.master.send(ret("1", "m"), "a");
    joined.master.send("salt/job/1/new", "x");
    joined.master.send("syndic/s/1", "b");
    joined.master.send("salt/run/1/ret", std::string(3 << 20, 'c'));
    CHECK(listener->received(3) == Heard{"m=a", "s=b", "=" + std::string(3 << 20, 'c')});
  }
}

struct Stream {
  explicit Stream(master::EventLog& log) : reader(*log.reader({auth::EventScope::all, {}})) {}

  std::string tags(std::size_t count) {
    wait_until([&] {
      const auto read = reader->read(events, 1 << 20, nullptr);
      if (!read) end = read.error().message;
      return events.size() >= count || !end.empty();
    });
    std::string all;
    for (const auto& event : events) all += event->tag() + " ";
    return all;
  }

  std::unique_ptr<master::EventReader> reader;
  std::vector<master::EventPtr> events;
  std::string end;
};

TEST_CASE("all events in both framings are logged") {
  for (const Framing framing : {Framing::bare, Framing::with_length}) {
    Joined joined(framing);
    joined.listen("1");
    Stream stream(*joined.log);
    joined.master.send("salt/auth", "\x80");
    joined.master.send(ret("1", "m"), "\x80");
    joined.master.send("any/thing", "\x80");
    CHECK(stream.tags(3) == "salt/auth salt/job/1/ret/m any/thing ");
  }
}

TEST_CASE("a replaced socket is joined again") {
  Joined joined;
  const auto waiting = joined.listen("1");
  Stream stream(*joined.log);
  const CapturedLog log;
  // The first socket keeps its connections, but its path now leads to the new socket.
  FakeEventBus next(joined.dir / "bus.ipc");
  SUBCASE("when the next job is published") {
    const auto expectation = joined.bus->expect("2");
    CHECK(expectation);
  }
  SUBCASE("by the periodic check") {}
  wait_until([&] { return log.has("joined again"); });
  CHECK(waiting->received(1) == Heard{kBusLost});
  CHECK(stream.tags(1).empty());
  CHECK_FALSE(stream.end.empty());
  CHECK(log.has("that an earlier one left behind"));
  const auto listener = joined.listen("3");
  next.send(ret("3", "m"), "a");
  CHECK(listener->received(1) == Heard{"m=a"});
}

TEST_CASE("a removed socket keeps its connection") {
  Joined joined;
  const auto listener = joined.listen("1");
  std::filesystem::remove(joined.dir / "bus.ipc");
  // The bus checks its socket during this pause.
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  joined.master.send(ret("1", "m"), "a");
  CHECK(listener->received(1) == Heard{"m=a"});
}

TEST_CASE("event streams end when the bus is lost") {
  const char* const lost = "The Salt master's event bus was lost: events may have been missed.";
  const CapturedLog log;
  Joined joined;
  joined.listen("1");
  Stream first(*joined.log);
  joined.master.send("a", "\x80");
  CHECK(first.tags(1) == "a ");
  joined.master.close_all();
  first.tags(2);
  CHECK(first.end == lost);
  joined.listen("2");
  Stream second(*joined.log);
  joined.master.send_bytes("\xC1");
  second.tags(1);
  CHECK(second.end == lost);
  joined.listen("3");
  Stream third(*joined.log);
  joined.bus.reset();
  third.tags(1);
  CHECK(third.end == lost);
}

/// Sends numbered returns of one job. Returns whether the listener gets all returns in order.
bool one_job(Joined& joined, const std::string& jid) {
  constexpr int kReturns = 20;
  auto expectation = joined.bus->expect();
  if (!expectation) return false;
  const auto listener = std::make_shared<Recorder>();
  Heard sent;
  for (int number = 0; number < kReturns; ++number) {
    if (number == kReturns / 2 && !expectation->listen(jid, listener)) return false;
    sent.push_back("m=" + jid + " " + std::to_string(number));
    joined.master.send(ret(jid, "m"), sent.back().substr(2));
  }
  const bool right = listener->received(sent.size()) == sent && !listener->crowded();
  listener->want_no_more();
  return right;
}

TEST_CASE("concurrent jobs get their own returns in order") {
  Joined joined;
  static_cast<void>(expect_soon(*joined.bus));
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (int job = thread; job < 100; job += 8) right += one_job(joined, std::to_string(job)) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 100);
}

TEST_CASE("a loss is reported and the bus is joined again") {
  const CapturedLog log;
  Joined joined;
  auto expectation = expect_soon(*joined.bus);
  const auto listener = joined.listen("1");
  joined.master.stop();
  CHECK(listener->received(1) == Heard{kBusLost});
  const auto refused = joined.bus->wait_until_joined(SteadyClock::now());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::unavailable);
  CHECK(refused.error().message == "Salt Master is not available.");

  joined.master.start();
  joined.listen("probe");
  joined.master.send(ret("1", "m"), "a");
  CHECK(listener->received(2) == Heard{kBusLost, "m=a"});
  const auto late = std::make_shared<Recorder>();
  CHECK(expectation.listen("2", late));
  CHECK(late->received(1) == Heard{kBusLost});

  const std::string text = log.text();
  CHECK(text.find("the Salt master's event bus is joined\n") != std::string::npos);
  const std::size_t lost = text.find("the Salt master's event bus was lost: the master closed it;");
  REQUIRE(lost != std::string::npos);
  const std::size_t back = text.find("the Salt master's event bus is joined again");
  REQUIRE(back > lost);
  CHECK(text.find("event bus", lost + 40) > back - 20);
}

TEST_CASE("after a loss the other framing is recognized") {
  Joined joined(Framing::with_length);
  const auto listener = joined.listen("1");
  joined.master.send(ret("1", "m"), "a");
  CHECK(listener->received(1) == Heard{"m=a"});
  joined.master.close_all();
  CHECK(listener->received(2).back() == kBusLost);
  joined.listen("probe");
  joined.master.send_bytes(event_frame(ret("1", "m"), "b", Framing::bare));
  CHECK(listener->received(3).back() == "m=b");
}

TEST_CASE("the bus is joined when the master starts later") {
  const CapturedLog log;
  const TempDir dir;
  const auto bus = started({.path = dir / "bus.ipc", .rejoin_pause = std::chrono::milliseconds(2)});
  const std::string refused =
      "the Salt master's event bus cannot be joined: " + dir / "bus.ipc" + ": No such file or directory";
  wait_until([&] { return log.has(refused); });
  const FakeEventBus master(dir / "bus.ipc");
  expect_soon(*bus);
  const std::string text = log.text();
  CHECK(text.find("cannot be joined", text.find(refused) + refused.size()) == std::string::npos);
}

std::set<int> descriptors() {
  std::set<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    found.insert(std::stoi(entry.path().filename()));
  }
  std::erase_if(found, [](int fd) { return ::fcntl(fd, F_GETFD) < 0; });
  return found;
}

TEST_CASE("a child process inherits no descriptor of the bus") {
  const TempDir dir;
  const FakeEventBus master(dir / "bus.ipc");
  const std::set<int> before = descriptors();
  {
    const auto bus = started({.path = dir / "bus.ipc"});
    expect_soon(*bus);
    int added = 0;
    for (const int fd : descriptors()) {
      if (before.count(fd) > 0) continue;
      ++added;
      CHECK((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    }
    CHECK(added == 2);
  }
  CHECK(descriptors() == before);
}

}  // namespace

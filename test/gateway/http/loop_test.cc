// SPDX-License-Identifier: MIT
#include "gateway/http/loop.h"

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../served.h"

namespace rest_fcgi::gateway::test {
namespace {

/// A loop that runs until it goes.
struct Looping {
  explicit Looping(bool works = true) { REQUIRE(loop->start("test", works)); }
  ~Looping() {
    if (!ended) loop->end();
  }
  std::size_t end() {
    ended = true;
    return loop->end();
  }
  /// Has the leader do `work` as such that may take long; what it was told before and after.
  struct Told {
    bool began = false, leads = false;
  };
  Told work(const std::function<void()>& work) {
    Told told;
    std::atomic<bool> done = false;
    loop->post([&] {
      told.began = loop->begin_work();
      work();
      if (told.began) told.leads = loop->end_work();
      done = true;
    });
    REQUIRE(eventually([&] { return done.load(); }));
    return told;
  }

  std::shared_ptr<Loop> loop = std::make_shared<Loop>();
  bool ended = false;
};

/// Has the leader do `work`, which says itself when it has ended, as soon as one may begin: on a busy machine
/// work that takes no time may have taken long, and then none may for a while.
void begin(const std::shared_ptr<Loop>& loop, const std::function<void()>& work) {
  loop->post([loop, work] { loop->begin_work() ? work() : begin(loop, work); });
}

/// Once the second thread watches.
bool works_soon(Looping& looping) {
  return eventually([&] { return looping.work([] {}).began; });
}

TEST_CASE("quick work is done by the thread that leads, which goes on leading") {
  Looping looping;
  REQUIRE(works_soon(looping));
  std::thread::id leader;
  looping.work([&] { leader = std::this_thread::get_id(); });
  // A busy machine may take the processor away from it meanwhile.
  CHECK(eventually([&] {
    bool same = false;
    const auto told = looping.work([&] { same = std::this_thread::get_id() == leader; });
    leader = same ? leader : std::this_thread::get_id();
    if (!same) looping.work([&] { leader = std::this_thread::get_id(); });
    return told.began && told.leads && same;
  }));
}

TEST_CASE("while work takes long another thread leads, and for a while no such work is begun") {
  Looping looping;
  REQUIRE(works_soon(looping));
  Door door;
  std::atomic<int> led = 0;
  begin(looping.loop, [&] {
    door.pass();
    CHECK(!looping.loop->end_work());
    ++led;
  });
  REQUIRE(door.waiting(1) == 1);
  for (int i = 0; i < 10; ++i) CHECK(!looping.work([] {}).began);
  const auto opened = std::chrono::steady_clock::now();
  door.open();
  CHECK(eventually([&] { return led == 1; }));
  const bool has_begun = looping.work([] {}).began;
  CHECK((!has_begun || std::chrono::steady_clock::now() - opened > milliseconds(100)));
  CHECK(works_soon(looping));
}

TEST_CASE("at the end work that takes long is left alone, and counted") {
  auto door = std::make_shared<Door>();
  Looping looping;
  REQUIRE(works_soon(looping));
  auto led = std::make_shared<std::atomic<int>>(0);
  begin(looping.loop, [door, led, loop = looping.loop] {
    door->pass();
    *led = loop->end_work() ? 1 : 2;
  });
  REQUIRE(door->waiting(1) == 1);
  CHECK(looping.end() == 1);
  door->open();
  CHECK(eventually([&] { return *led == 2; }));
}

TEST_CASE("who waits in a loop when it ends is called then, and nobody afterwards") {
  Looping looping(false);
  CHECK(!looping.work([] {}).began);  // nobody watches
  CHECK(looping.end() == 0);
  bool called = false;
  looping.loop->post([&] { called = true; });
  CHECK(!called);
}

}  // namespace
}  // namespace rest_fcgi::gateway::test

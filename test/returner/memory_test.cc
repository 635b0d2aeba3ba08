// SPDX-License-Identifier: MIT
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../support/manual_clock.h"
#include "caches.h"

using namespace rest_fcgi;
using namespace rest_fcgi::returner;

TEST_CASE("beyond max_jobs the oldest jobs go first") {
  const auto cache = make_memory_returner({.max_jobs = 3, .max_bytes = 1 << 20}, system_clock());
  for (int i = 0; i < 50; ++i) REQUIRE(cache->save_load(load_of(std::to_string(i)), Durability::grouped));
  CHECK(jids_of(*cache) == Jids{"47", "48", "49"});
  CHECK_FALSE(cache->get_load("46")->has_value());
}

TEST_CASE("beyond max_bytes the oldest jobs go first, also where a return makes it too much") {
  const auto cache = make_memory_returner({.max_jobs = 100, .max_bytes = 1000}, system_clock());
  for (const char* jid : {"1", "2", "3"}) REQUIRE(cache->save_load(load_of(jid), Durability::grouped));
  REQUIRE(cache->returner("3", return_of("ms-0", std::string(960, 'x'))));
  CHECK(jids_of(*cache) == Jids{"3"});
}

TEST_CASE("a return that is replaced by a smaller one gives its bytes back") {
  const auto cache = make_memory_returner({.max_jobs = 100, .max_bytes = 1000}, system_clock());
  REQUIRE(cache->save_load(load_of("1"), Durability::grouped));
  for (int i = 0; i < 20; ++i) REQUIRE(cache->returner("1", return_of("ms-0", std::string(500, 'x'))));
  REQUIRE(cache->returner("1", return_of("ms-0", "x")));
  REQUIRE(cache->save_load(load_of("2"), Durability::grouped));
  REQUIRE(cache->returner("2", return_of("ms-0", std::string(800, 'x'))));
  CHECK(jids_of(*cache) == Jids{"1", "2"});
}

TEST_CASE("a job that exceeds max_bytes by itself is not kept") {
  const auto cache = make_memory_returner({.max_jobs = 100, .max_bytes = 1000}, system_clock());
  REQUIRE(cache->save_load(load_of("1"), Durability::grouped));
  REQUIRE(cache->returner("1", return_of("ms-0", std::string(2000, 'x'))));
  CHECK(jids_of(*cache).empty());
}

TEST_CASE("a cache that may keep nothing keeps nothing") {
  const auto cache = make_memory_returner({.max_jobs = 0, .max_bytes = 0}, system_clock());
  CHECK(cache->save_load(load_of("1"), Durability::grouped));
  CHECK(jids_of(*cache).empty());
}

TEST_CASE("a jid that is saved twice is found as it was saved last, also after the first one went") {
  const auto cache = make_memory_returner({.max_jobs = 2, .max_bytes = 1 << 20}, system_clock());
  REQUIRE(cache->save_load(load_of("1"), Durability::grouped));
  Load again = load_of("1");
  again.user = "ann";
  REQUIRE(cache->save_load(again, Durability::grouped));
  REQUIRE(cache->save_load(load_of("2"), Durability::grouped));
  REQUIRE(cache->get_load("1")->has_value());
  CHECK((*cache->get_load("1"))->user == "ann");
}

TEST_CASE("many threads save, return and look up at once, and the limits hold") {
  const auto cache = make_memory_returner({.max_jobs = 64, .max_bytes = 1 << 20}, system_clock());
  std::atomic<int> next{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const std::string jid = std::to_string(next++);
        (void)cache->save_load(load_of(jid), Durability::grouped);
        (void)cache->returner(jid, return_of("ms-0", "x"));
        (void)cache->get_load(jid);
        if (i % 500 == 0) (void)jids_of(*cache);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(jids_of(*cache).size() == 64);
}

TEST_CASE("claims whose loads never come do not pile up: the oldest ones go") {
  const auto cache = make_memory_returner({}, system_clock());
  for (int i = 0; i < 40'000; ++i) REQUIRE(*cache->prep_jid(jid_number(i)));
  CHECK(*cache->prep_jid(jid_number(0)));
  CHECK_FALSE(*cache->prep_jid(jid_number(39'999)));
}

TEST_CASE("jobs go after keep_jobs_seconds, without anybody who asks for that") {
  test::ManualClock clock;
  const auto cache = make_memory_returner({.keep_jobs_seconds = std::chrono::seconds(60)}, clock);
  REQUIRE(cache->save_load(load_of("1"), Durability::grouped));
  REQUIRE(cache->returner("1", return_of("ms-0", "x")));
  clock.advance(std::chrono::seconds(59));
  REQUIRE(cache->save_load(load_of("2"), Durability::grouped));
  CHECK(jids_of(*cache) == Jids{"1", "2"});
  clock.advance(std::chrono::seconds(2));
  CHECK(jids_of(*cache) == Jids{"2"});
  clock.advance(std::chrono::seconds(60));
  CHECK_FALSE(cache->get_load("2")->has_value());
  CHECK(cache->get_minions()->empty());
}

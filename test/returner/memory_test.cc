// SPDX-License-Identifier: MIT
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "rest_fcgi/returner/returner.h"

using namespace rest_fcgi;
using namespace rest_fcgi::returner;

namespace {

Load load_of(const std::string& jid) {
  return {jid,     Json::string("test.ping"), Json::trusted("[]"), Json::string("*"), "glob", "fred", {},
          {"ms-0"}};
}

JobReturn return_of(const std::string& minion, std::string_view text) {
  return {minion, Json::string(text), 0, true, ""};
}

std::vector<std::string> jids_of(const Returner& cache) {
  std::vector<std::string> jids;
  const std::vector<Load> loads = *cache.get_jids();
  for (const Load& load : loads) jids.push_back(load.jid);
  return jids;
}

using Jids = std::vector<std::string>;

}  // namespace

TEST_CASE("a job that was saved is found again as it was, with what returned") {
  const auto cache = make_memory_returner({});
  Load load = load_of("1");
  load.metadata = Json::trusted(R"({"a": 1})");
  REQUIRE(cache->save_load(load));
  REQUIRE(cache->returner("1", {"ms-0", Json::boolean(true), 3, false, "highstate"}));

  const StoredJob job = **cache->get_job("1");
  CHECK(job.load.jid == "1");
  CHECK(job.load.fun.text() == "\"test.ping\"");
  CHECK(job.load.tgt_type == "glob");
  CHECK(job.load.user == "fred");
  CHECK(job.load.metadata->text() == R"({"a": 1})");
  CHECK(job.load.minions == std::vector<std::string>{"ms-0"});
  REQUIRE(job.returns.size() == 1);
  CHECK(job.returns[0].minion == "ms-0");
  CHECK(job.returns[0].ret.text() == "true");
  CHECK(job.returns[0].retcode == 3);
  CHECK_FALSE(job.returns[0].success);
  CHECK(job.returns[0].out == "highstate");
}

TEST_CASE("a job that was never saved is absent") {
  const auto cache = make_memory_returner({});
  CHECK_FALSE(cache->get_job("1")->has_value());
  CHECK(jids_of(*cache).empty());
}

TEST_CASE("a return for a job that is not kept is dropped") {
  const auto cache = make_memory_returner({});
  CHECK(cache->returner("1", return_of("ms-0", "x")));
  CHECK_FALSE(cache->get_job("1")->has_value());
}

TEST_CASE("a second return of a minion replaces the first") {
  const auto cache = make_memory_returner({});
  REQUIRE(cache->save_load(load_of("1")));
  REQUIRE(cache->returner("1", return_of("ms-0", "first")));
  REQUIRE(cache->returner("1", return_of("ms-0", "second")));
  const StoredJob job = **cache->get_job("1");
  REQUIRE(job.returns.size() == 1);
  CHECK(job.returns[0].ret.text() == "\"second\"");
}

TEST_CASE("jobs are listed oldest first, whatever their jids") {
  const auto cache = make_memory_returner({});
  Jids expected;
  for (int i = 100; i > 0; --i) {
    expected.push_back(std::to_string(i));
    REQUIRE(cache->save_load(load_of(expected.back())));
  }
  CHECK(jids_of(*cache) == expected);
}

TEST_CASE("beyond max_jobs the oldest jobs go first") {
  const auto cache = make_memory_returner({3, 1 << 20});
  for (int i = 0; i < 50; ++i) REQUIRE(cache->save_load(load_of(std::to_string(i))));
  CHECK(jids_of(*cache) == Jids{"47", "48", "49"});
  CHECK_FALSE(cache->get_job("46")->has_value());
}

TEST_CASE("beyond max_bytes the oldest jobs go first, also where a return makes it too much") {
  const auto cache = make_memory_returner({100, 1000});
  for (const char* jid : {"1", "2", "3"}) REQUIRE(cache->save_load(load_of(jid)));
  REQUIRE(cache->returner("3", return_of("ms-0", std::string(960, 'x'))));
  CHECK(jids_of(*cache) == Jids{"3"});
}

TEST_CASE("a return that is replaced by a smaller one gives its bytes back") {
  const auto cache = make_memory_returner({100, 1000});
  REQUIRE(cache->save_load(load_of("1")));
  for (int i = 0; i < 20; ++i) REQUIRE(cache->returner("1", return_of("ms-0", std::string(500, 'x'))));
  REQUIRE(cache->returner("1", return_of("ms-0", "x")));
  REQUIRE(cache->save_load(load_of("2")));
  REQUIRE(cache->returner("2", return_of("ms-0", std::string(800, 'x'))));
  CHECK(jids_of(*cache) == Jids{"1", "2"});
}

TEST_CASE("a job that exceeds max_bytes by itself is not kept") {
  const auto cache = make_memory_returner({100, 1000});
  REQUIRE(cache->save_load(load_of("1")));
  REQUIRE(cache->returner("1", return_of("ms-0", std::string(2000, 'x'))));
  CHECK(jids_of(*cache).empty());
}

TEST_CASE("a cache that may keep nothing keeps nothing") {
  const auto cache = make_memory_returner({0, 0});
  CHECK(cache->save_load(load_of("1")));
  CHECK(jids_of(*cache).empty());
}

TEST_CASE("a jid that is saved twice is found as it was saved last, also after the first one went") {
  const auto cache = make_memory_returner({2, 1 << 20});
  REQUIRE(cache->save_load(load_of("1")));
  Load again = load_of("1");
  again.user = "ann";
  REQUIRE(cache->save_load(again));
  REQUIRE(cache->save_load(load_of("2")));
  REQUIRE(cache->get_job("1")->has_value());
  CHECK((*cache->get_job("1"))->load.user == "ann");
}

TEST_CASE("many threads save, return and look up at once, and the limits hold") {
  const auto cache = make_memory_returner({64, 1 << 20});
  std::atomic<int> next{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const std::string jid = std::to_string(next++);
        (void)cache->save_load(load_of(jid));
        (void)cache->returner(jid, return_of("ms-0", "x"));
        (void)cache->get_job(jid);
        if (i % 500 == 0) (void)cache->get_jids();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(jids_of(*cache).size() == 64);
}

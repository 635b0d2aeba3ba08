// SPDX-License-Identifier: MIT
#include <atomic>
#include <limits>
#include <optional>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/eventually.h"
#include "caches.h"
#include "etcd_caches.h"
#include "rest_fcgi/returner/returners.h"
#include "returner/stored.h"

namespace rest_fcgi::returner {
namespace {

using Names = std::vector<std::string>;

constexpr std::size_t kBytes = std::size_t{8} << 20;

struct InMemory {
  std::unique_ptr<Returner> make(const Clock& clock) {
    return make_store_returner(open_store(), std::chrono::hours(24), kBytes, clock);
  }
};

struct InFile {
  test::TempDir dir;
  std::unique_ptr<Returner> make(const Clock& clock) {
    return make_store_returner(open_store(dir / "state/state.db"), std::chrono::hours(24), kBytes, clock);
  }
};

template <class Kind>
struct Cache {
  test::ManualClock clock;
  Kind kind;
  std::unique_ptr<Returner> cache = kind.make(clock);

  Returner* operator->() const { return cache.get(); }
  Returner& operator*() const { return *cache; }
};

// The caches in KEEPERS delete old jobs. etcd itself deletes the jobs of the other caches.
#define KEEPERS Cache<InMemory>, Cache<InFile>
#define CACHES KEEPERS, Cache<InFakeEtcd>, Cache<InEtcd<false>>, Cache<InEtcd<true>>

TEST_CASE_TEMPLATE("a saved job is found with its minions and returns, and an unknown job is absent", Caches,
                   CACHES) {
  const Caches cache;
  CHECK_FALSE(cache->get_load("no jid at all")->has_value());
  CHECK(cache->get_jid("")->empty());
  CHECK_FALSE(cache->get_load(jid_number(1))->has_value());
  CHECK(cache->get_jid(jid_number(1))->empty());
  CHECK(jids_of(*cache).empty());
  Load load = load_of(jid_number(1));
  load.metadata = Json::trusted(R"({"a": 1})");
  load.minions = {"ms-0"};
  REQUIRE(cache->save_load(load, Durability::committed));
  REQUIRE(cache->save_minions(jid_number(1), {"ms-2", "ms-0", "ms-1"}));
  REQUIRE(cache->returner(jid_number(1), {"ms-0", Json::boolean(true), 3, false, "highstate"}));

  const Load found = **cache->get_load(jid_number(1));
  CHECK(found.jid == jid_number(1));
  CHECK(found.fun.text() == "\"test.ping\"");
  CHECK(found.arg.text() == "[]");
  CHECK(found.tgt.text() == "\"*\"");
  CHECK(found.tgt_type == "glob");
  CHECK(found.user == "fred");
  REQUIRE(found.metadata);
  CHECK(found.metadata->text() == R"({"a": 1})");
  CHECK(found.minions == std::vector<std::string>{"ms-0", "ms-1", "ms-2"});
  const std::vector<JobReturn> returns = *cache->get_jid(jid_number(1));
  REQUIRE(returns.size() == 1);
  CHECK(returns[0].minion == "ms-0");
  CHECK(returns[0].ret.text() == "true");
  CHECK(returns[0].retcode == 3);
  CHECK_FALSE(returns[0].success);
  CHECK(returns[0].out == "highstate");
}

TEST_CASE_TEMPLATE("save_job stores a job as save_load and returner do", Caches, CACHES) {
  const Caches cache;
  Load load = load_of(jid_number(1));
  load.minions = {"ms-0", "ms-1", "ms-2"};
  const std::vector<ReturnView> returns{
      {"ms-0", "true"}, {"ms-1", "true"}, {"ms-2", "[1]", 3, false, "nested"}};
  REQUIRE(cache->save_job(load, returns));
  CHECK((*cache->get_load(jid_number(1)))->minions == load.minions);
  const auto returned = [&](int number) {
    const std::vector<JobReturn> kept = *cache->get_jid(jid_number(number));
    std::vector<std::string> texts;
    for (const JobReturn& ret : kept) texts.push_back(ret.minion + " " + ret.ret.text());
    return texts;
  };
  CHECK(returned(1) == std::vector<std::string>{"ms-0 true", "ms-1 true", "ms-2 [1]"});
  CHECK(cache->get_jid(jid_number(1))->at(2).retcode == 3);
  CHECK(cache->get_jid(jid_number(1))->at(2).out == "nested");
  // After `save_job`, a return replaces the earlier return of the same minion, or is added to the job.
  load.jid = jid_number(2);
  REQUIRE(cache->save_job(load, returns));
  REQUIRE(cache->returner(jid_number(2), return_of("ms-1", "soon")));
  REQUIRE(cache->save_minions(jid_number(2), {"a"}));
  CHECK(returned(2) == std::vector<std::string>{"ms-0 true", "ms-1 \"soon\"", "ms-2 [1]"});
  REQUIRE(cache->returner(jid_number(2), return_of("a", "late")));
  CHECK(returned(2) == std::vector<std::string>{"a \"late\"", "ms-0 true", "ms-1 \"soon\"", "ms-2 [1]"});
  // A second `save_job` replaces the load, and the returns of the minions that it names.
  load.minions = {"ms-2"};
  const std::vector<ReturnView> again{{"ms-2", "[2]"}};
  REQUIRE(cache->save_job(load, again));
  CHECK(returned(2) == std::vector<std::string>{"a \"late\"", "ms-0 true", "ms-1 \"soon\"", "ms-2 [2]"});
  load.jid = jid_number(3);
  REQUIRE(cache->save_job(load, returns));
  REQUIRE(cache->save_job(load, again));
  REQUIRE(cache->returner(jid_number(3), return_of("ms-2", "last")));
  CHECK(returned(3) == std::vector<std::string>{"ms-0 true", "ms-1 true", "ms-2 \"last\""});
}

TEST_CASE_TEMPLATE("a placeholder replaces no return, and every return replaces it", Caches, CACHES) {
  const Caches cache;
  const std::string jid = jid_number(1);
  const JobReturn stand_in{"ms-0", Json::string("interrupted"), 1, false, "", true};
  const auto kept = [&] { return cache->get_jid(jid)->at(0).ret.text(); };
  REQUIRE(cache->returner(jid, stand_in));
  CHECK(cache->get_jid(jid)->empty());  // The cache drops a return of a job that is not stored.
  REQUIRE(cache->save_load(load_of(jid), Durability::committed));
  REQUIRE(cache->returner(jid, stand_in));
  CHECK(kept() == "\"interrupted\"");
  REQUIRE(cache->returner(jid, return_of("ms-0", "came")));
  CHECK(kept() == "\"came\"");
  REQUIRE(cache->returner(jid, stand_in));
  CHECK(kept() == "\"came\"");
  CHECK(cache->get_jid(jid)->size() == 1);
  // A placeholder does not replace a return that was saved together with the load.
  REQUIRE(cache->save_load(load_of(jid_number(2)), Durability::committed));
  REQUIRE(cache->returner(jid_number(2), return_of("ms-0", "soon")));
  REQUIRE(cache->returner(jid_number(2), stand_in));
  CHECK(cache->get_jid(jid_number(2))->at(0).ret.text() == "\"soon\"");
}

TEST_CASE_TEMPLATE("get_jids visits jobs in both orders and between bounds", Caches, CACHES) {
  const Caches cache;
  for (const int number : {3, 1, 4, 2}) {
    REQUIRE(cache->save_load(load_of(jid_number(number)), Durability::committed));
  }
  const auto j = jid_number;
  CHECK(jids_of(*cache) == Jids{j(1), j(2), j(3), j(4)});
  CHECK(jids_of(*cache, {.newest_first = true}) == Jids{j(4), j(3), j(2), j(1)});
  CHECK(jids_of(*cache, {.first = j(2), .last = j(3)}) == Jids{j(2), j(3)});
  CHECK(jids_of(*cache, {.first = j(5)}).empty());
  CHECK(jids_of(*cache, {.last = j(3), .newest_first = true}) == Jids{j(3), j(2), j(1)});
}

TEST_CASE_TEMPLATE("get_page returns each job once, in both orders", Caches, CACHES) {
  const Caches cache;
  const auto j = jid_number;
  for (int i = 1; i <= 5; ++i) REQUIRE(cache->save_load(load_of(j(i)), Durability::committed));
  CHECK(jids_of(*cache, {.after = j(2), .before = j(5)}) == Jids{j(3), j(4)});
  CHECK(jids_of(*cache, {.after = j(9)}).empty());
  for (const bool newest_first : {false, true}) {
    Jids all;
    std::vector<std::size_t> sizes;
    for (std::optional<JobQuery> rest = JobQuery{.newest_first = newest_first}; rest;) {
      LoadPage page = *get_page(*cache, *rest, 2);
      for (const Load& load : page.loads) all.push_back(load.jid);
      sizes.push_back(page.loads.size());
      rest = std::move(page.rest);
    }
    CHECK(sizes == std::vector<std::size_t>{2, 2, 1});
    CHECK(all == (newest_first ? Jids{j(5), j(4), j(3), j(2), j(1)} : Jids{j(1), j(2), j(3), j(4), j(5)}));
  }
}

TEST_CASE_TEMPLATE("prep_jid reserves a jid once, and no jid of a job", Caches, CACHES) {
  const Caches cache;
  CHECK(*cache->prep_jid(jid_number(1)));
  CHECK_FALSE(*cache->prep_jid(jid_number(1)));
  REQUIRE(cache->save_load(load_of(jid_number(1)), Durability::committed));
  CHECK_FALSE(*cache->prep_jid(jid_number(1)));
  REQUIRE(cache->save_load(load_of(jid_number(2)), Durability::committed));
  CHECK_FALSE(*cache->prep_jid(jid_number(2)));
  CHECK(*cache->prep_jid(jid_number(3)));
}

TEST_CASE_TEMPLATE("a visitor that throws does no harm to later reads", Caches, KEEPERS) {
  const Caches cache;
  REQUIRE(cache->save_load(load_of(jid_number(1)), Durability::committed));
  for (int i = 0; i < 20; ++i) {  // The store keeps fewer than 20 idle connections for reads.
    const auto walk = [&] {
      return cache->get_jids({}, [](const Load&) -> bool { throw std::bad_alloc(); });
    };
    CHECK_THROWS_AS((void)walk(), std::bad_alloc);
  }
  CHECK(jids_of(*cache) == Jids{jid_number(1)});
}

TEST_CASE_TEMPLATE("jobs older than keep_jobs_seconds are deleted with their returns", Caches, KEEPERS) {
  Caches cache;
  for (const int number : {1, 2}) {
    REQUIRE(cache->save_load(load_of(jid_number(number)), Durability::committed));
    REQUIRE(cache->returner(jid_number(number), return_of("ms-0", "x")));
  }
  cache.clock.advance(std::chrono::hours(23));
  REQUIRE(cache->save_load(load_of("20231115211320000000"), Durability::committed));
  cache.clock.advance(std::chrono::hours(2));
  CHECK(test::eventually([&] { return jids_of(*cache).size() == 1; }));
  CHECK(jids_of(*cache) == Jids{"20231115211320000000"});
  CHECK(cache->get_jid(jid_number(2))->empty());
  REQUIRE(cache->save_load(load_of(jid_number(2)), Durability::committed));
  CHECK(cache->get_jid(jid_number(2))->empty());
}

TEST_CASE("a jid without a key is refused") {
  Cache<InMemory> cache;
  for (const std::string jid :
       {"", "1", "2026112623150012345x", "00011126231500123456", "29001126231500123456"}) {
    CAPTURE(jid);
    CHECK(cache->prep_jid(jid).error().kind == ErrorKind::invocation);
    CHECK(cache->save_load(load_of(jid), Durability::committed).error().kind == ErrorKind::invocation);
    CHECK(cache->save_job(load_of(jid), {}).error().kind == ErrorKind::invocation);
  }
}

TEST_CASE("beyond max_bytes the oldest jobs are deleted, and the log says it") {
  const test::ManualClock clock;
  const test::CapturedLog log;
  const auto store = open_store();
  const auto cache = make_store_returner(store, std::chrono::hours(0), std::size_t{1} << 20, clock);
  Load load = load_of(jid_number(0));
  load.arg = Json::string(std::string(2000, 'x'));
  for (int i = 1; i <= 3000; ++i) {
    load.jid = jid_number(i);
    REQUIRE(cache->save_job(load, {}));
    if (i % 100 == 0) CHECK(*store->used_bytes() < (std::int64_t{1} << 21));
  }
  CHECK(cache->get_load(jid_number(3000))->has_value());
  CHECK_FALSE(cache->get_load(jid_number(1))->has_value());
  CHECK(log.has("jobs_bytes_kept"));
}

TEST_CASE_TEMPLATE("threads save, return and look up at the same time", Caches, CACHES) {
  const Caches cache;
  std::atomic<int> next{0};
  std::atomic<int> missing{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const std::string jid = jid_number(next++);
        const auto durability = i % 50 == 0 ? Durability::durable : Durability::committed;
        if (!cache->save_load(load_of(jid), durability)) ++missing;
        if (!cache->returner(jid, return_of("ms-0", jid))) ++missing;
        if (i % 20 != 0) continue;
        const auto found = cache->get_jid(jid);
        if (!found || found->size() != 1) ++missing;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(missing == 0);
  CHECK(jids_of(*cache).size() == 800);
}

TEST_CASE("the key of a jid gives the jid back, and a malformed jid has no key") {
  CHECK(key_of("20261121061410043746") == 261121061410043746);
  std::optional<JidKey> before = std::numeric_limits<JidKey>::min();
  for (const std::string jid : {"11000000000000000000", "19991231235959999999", "20000101000000000000",
                                "20261121061410043746", "20261121061410043747", "28999999999999999999"}) {
    CAPTURE(jid);
    const std::optional<JidKey> key = key_of(jid);
    REQUIRE(key);
    CHECK(jid_of(*key) == jid);
    CHECK(*before < *key);
    before = key;
  }
  for (const char* bad : {"", "2026", "2026112106141004374x", "202611210614100437461", "10999999999999999999",
                          "29000000000000000000", "-0261121061410043746"}) {
    CAPTURE(bad);
    CHECK_FALSE(key_of(bad).has_value());
  }
}

TEST_CASE("a query selects the jids between its bounds") {
  const std::string jid = "20261121061410043746";
  CHECK(selects({}, jid));
  CHECK(selects({.first = jid, .last = jid}, jid));
  CHECK_FALSE(selects({.after = jid}, jid));
  CHECK_FALSE(selects({.before = jid}, jid));
  CHECK_FALSE(selects({.first = "20261121061410043747"}, jid));
  CHECK_FALSE(selects({.last = "20261121061410043745"}, jid));
  CHECK(jid_of(keys_of({}).least) == "11000000000000000000");
  CHECK(jid_of(keys_of({}).greatest) == "28999999999999999999");
  const JidKeys keys = keys_of({.first = "00010101000000000000", .last = jid, .after = jid + "_7"});
  CHECK(jid_of(keys.least) == jid);
  CHECK(jid_of(keys.greatest) == jid);
  CHECK(keys_of({.last = "99990101000000000000"}).greatest == keys_of({}).greatest);
}

Result<std::unique_ptr<Returners>> made(const Options& options) {
  return Returners::make(options, open_store(), system_clock());
}

TEST_CASE("each cache of the options is opened once, and by default jobs are in memory") {
  const auto by_default = *made({});
  CHECK(by_default->names() == Names{"memory", "sqlite3"});
  CHECK(by_default->find("memory") == &by_default->master_job_cache());
  CHECK(by_default->ext_job_caches().empty());
  Options options;
  options.master_job_cache = "sqlite3";
  options.ext_job_cache = {"memory"};
  const auto returners = *made(options);
  CHECK(returners->names() == Names{"memory", "sqlite3"});
  for (const char* name : {"sqlite3", "sqlite"})
    CHECK(returners->find(name) == &returners->master_job_cache());
  REQUIRE(returners->ext_job_caches().size() == 1);
  CHECK(returners->ext_job_caches()[0] == returners->find("memory"));
}

TEST_CASE("a chosen etcd is opened, whether it answers or not") {
  Options options = etcd_options();
  options.master_job_cache = "memory";
  CHECK((*made(options))->names() == Names{"etcd", "memory", "sqlite3"});
  options.etcd.is_chosen = false;
  CHECK((*made(options))->names() == Names{"memory", "sqlite3"});
  options.ext_job_cache = {"etcd"};
  CHECK((*made(options))->names() == Names{"etcd", "memory", "sqlite3"});
}

TEST_CASE("an unknown job cache is an error of the configuration") {
  Options options;
  options.ext_job_cache = {"redis"};
  const Error error = made(options).error();
  CHECK(error.kind == ErrorKind::configuration);
  CHECK(error.message == "master_job_cache: found redis, expected memory, sqlite3 or etcd");
}

}  // namespace
}  // namespace rest_fcgi::returner

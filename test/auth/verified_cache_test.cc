// SPDX-License-Identifier: MIT
#include "auth/verified_cache.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../support/manual_clock.h"

namespace rest_fcgi::auth {
namespace {

using std::chrono::seconds;
using test::ManualClock;

std::unique_ptr<VerifiedCache> make(seconds ttl, const Clock& clock) {
  auto cache = VerifiedCache::make(ttl, clock);
  REQUIRE(cache);
  return *std::move(cache);
}

VerifiedCache::Key key(const VerifiedCache& cache, std::string_view username,
                       std::string_view password = "sesame") {
  return cache.key("file", username, SecretView(password));
}

}  // namespace

TEST_CASE("a verified password is remembered until its time is over") {
  ManualClock clock;
  const auto cache = make(seconds(30), clock);
  const auto fred = key(*cache, "fred");
  CHECK_FALSE(cache->find(fred));
  cache->remember(fred, nullptr);
  clock.advance(seconds(30) - std::chrono::microseconds(1));
  CHECK(cache->find(fred));
  clock.advance(std::chrono::microseconds(1));
  CHECK_FALSE(cache->find(fred));
}

TEST_CASE("to remember again starts the time again, in the same place") {
  ManualClock clock;
  const auto cache = make(seconds(30), clock);
  const auto fred = key(*cache, "fred");
  cache->remember(fred, nullptr);
  clock.advance(seconds(20));
  cache->remember(fred, nullptr);
  clock.advance(seconds(20));
  CHECK(cache->find(fred));
}

TEST_CASE("with a time of 0 nothing is remembered") {
  const ManualClock clock;
  const auto cache = make(seconds(0), clock);
  cache->remember(key(*cache, "fred"), nullptr);
  CHECK_FALSE(cache->find(key(*cache, "fred")));
}

TEST_CASE("a key stands for one back end, one user and one password") {
  const ManualClock clock;
  const auto cache = make(seconds(30), clock);
  cache->remember(key(*cache, "fred"), nullptr);
  CHECK_FALSE(cache->find(key(*cache, "fred", "Sesame")));
  CHECK_FALSE(cache->find(key(*cache, "gene")));
  CHECK_FALSE(cache->find(key(*cache, "fredsesame", "")));
  CHECK_FALSE(cache->find(cache->key("auto", "fred", SecretView("sesame"))));
}

TEST_CASE("a full cache forgets the entry that ends first") {
  ManualClock clock;
  const auto cache = make(seconds(30), clock);
  VerifiedCache::Key same_shard{};
  for (std::size_t i = 0; i <= VerifiedCache::kEntriesPerShard; ++i) {
    same_shard[1] = static_cast<char>(i);
    cache->remember(same_shard, nullptr);
    clock.advance(seconds(1));
  }
  CHECK(cache->find(same_shard));
  same_shard[1] = 1;
  CHECK(cache->find(same_shard));
  same_shard[1] = 0;
  CHECK_FALSE(cache->find(same_shard));
}

TEST_CASE("many threads may use the cache at once") {
  const ManualClock clock;
  const auto cache = make(seconds(30), clock);
  std::atomic<int> lost = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        const auto mine = key(*cache, std::to_string(t) + "-" + std::to_string(i % 50));
        cache->remember(mine, nullptr);
        if (!cache->find(mine)) ++lost;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(lost == 0);
}

}  // namespace rest_fcgi::auth

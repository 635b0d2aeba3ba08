// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <thread>

#include "../support/captured_log.h"
#include "../support/eventually.h"
#include "etcd_caches.h"
#include "rest_fcgi/etcd/client.h"
#include "returner/etcd/store.h"

namespace rest_fcgi::returner {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using SteadyClock = std::chrono::steady_clock;

etcd::Deadline soon() {
  return SteadyClock::now() + seconds(10);
}

std::unique_ptr<etcd::Client> client_of(const Options& options) {
  return *etcd::Client::make(options.etcd.reading);
}

std::vector<etcd::KeyValue> below(const Options& options, const std::string& folder) {
  const std::string key = options.etcd.root + folder;
  return client_of(options)->range({.key = key, .range_end = etcd::prefix_end(key)}, soon())->kvs;
}

TEST_CASE("writes with a time to live share leases that last a tenth longer") {
  if (test::no_etcd()) return;
  const test::ManualClock clock;
  Options options = real_options(shared_etcd().urls(), false);
  options.etcd.ttl = seconds(600);
  const auto cache = open_etcd(options, clock);
  for (const int number : {1, 2}) {
    REQUIRE(cache->save_load(load_of(jid_number(number)), Durability::durable));
    REQUIRE(cache->returner(jid_number(number), return_of("m1", "x")));
    REQUIRE(cache->get_jid(kJid));
  }
  std::set<std::int64_t> leases;
  const auto kvs = below(options, "/");
  CHECK(kvs.size() == 2 * (1 + 9) + 1);
  for (const etcd::KeyValue& kv : kvs) leases.insert(kv.lease);
  REQUIRE(leases.size() == 1);
  const std::string lease = R"({"ID":")" + std::to_string(*leases.begin()) + "\"}";
  CHECK(shared_etcd().post("/v3/lease/timetolive", lease).find(R"("grantedTTL":"660")") != std::string::npos);
  REQUIRE(client_of(options)->lease_revoke(*leases.begin(), soon()));
  REQUIRE(cache->save_load(load_of(jid_number(3)), Durability::committed));
  CHECK(jids_of(*cache) == Jids{jid_number(3)});
}

TEST_CASE("with API v2 each key has its time to live") {
  if (test::no_etcd()) return;
  const test::ManualClock clock;
  Options options = real_options(shared_etcd().urls(), true);
  options.etcd.ttl = seconds(600);
  const auto cache = open_etcd(options, clock);
  REQUIRE(cache->save_load(load_of(jid_number(1)), Durability::durable));
  REQUIRE(cache->returner(jid_number(1), return_of("m1", "x")));
  REQUIRE(cache->get_jid(kJid));
  for (const std::string& key : {"/jobs/" + jid_number(1) + "/.load.p",
                                 "/jobs/" + jid_number(1) + "/m1/return", std::string("/minions/m1")}) {
    const auto answer =
        shared_etcd().request({.method = "GET", .path = "/v2/keys" + options.etcd.root + key});
    const std::size_t ttl = answer.body.find(R"("ttl":)");
    REQUIRE(ttl != std::string::npos);
    CHECK(std::stoi(answer.body.substr(ttl + 6)) > 590);
  }
}

TEST_CASE("the last job of a minion is never replaced by an older job") {
  if (test::no_etcd()) return;
  for (const bool v2 : {false, true}) {
    const test::ManualClock clock;
    const Options options = real_options(shared_etcd().urls(), v2);
    const auto cache = open_etcd(options, clock);
    for (const int number : {1, 3, 2}) {
      REQUIRE(cache->save_load(load_of(jid_number(number), number == 3 ? "test.arg" : "test.ping"),
                               Durability::durable));
      REQUIRE(cache->returner(jid_number(number), return_of("m1", "x")));
      REQUIRE(cache->get_jid(kJid));
    }
    const auto store = *(v2 ? make_etcd_store_v2 : make_etcd_store_v3)(options.etcd.reading, seconds(0));
    const EtcdLayout layout(options.etcd);
    CHECK(store->get({layout.minion("m1")})->front() == layout.encoded(jid_number(3)));
  }
}

TEST_CASE("a job with returns only is found") {
  if (test::no_etcd()) return;
  for (const bool v2 : {false, true}) {
    CAPTURE(v2);
    const test::ManualClock clock;
    const Options options = real_options(shared_etcd().urls(), v2);
    const auto store =
        *(v2 ? make_etcd_store_v2 : make_etcd_store_v3)(options.etcd.writing, std::chrono::seconds(0));
    const EtcdLayout layout(options.etcd);
    const auto put = [&](const std::string& minion, const char* field, const char* text) {
      const std::string key = layout.field(kJid, minion, field);
      REQUIRE(store->write({{EtcdWrite::Unless::exists, key, {}, {{key, layout.encoded(text)}}}}));
    };
    for (const char* minion : {"m1", "m2"}) {
      put(minion, "fun", "\"test.echo\"");
      put(minion, "fun_args", "[\"x\"]");
      put(minion, "return", "\"x\"");
    }
    const auto cache = open_etcd(options, clock);
    std::vector<std::string> jids;
    REQUIRE(cache->get_jids({}, [&](const Load& load) {
      CHECK(load.fun.text() == "\"test.echo\"");
      CHECK(load.arg.text() == "[\"x\"]");
      jids.push_back(load.jid);
      return true;
    }));
    CHECK(jids == std::vector<std::string>{kJid});
    const auto load = cache->get_load(kJid);
    REQUIRE(load);
    REQUIRE(*load);
    CHECK((*load)->user == "root");
    CHECK((*load)->minions == std::vector<std::string>{"m1", "m2"});
    CHECK((*cache->get_jid(kJid)).size() == 2);
  }
}

/// Writes loads directly into etcd, as another program does, up to 100 in a transaction.
void put_loads(const Options& options, const Jids& jids) {
  const auto client = client_of(options);
  const EtcdLayout layout(options.etcd);
  for (std::size_t begin = 0; begin < jids.size();) {
    etcd::TxnRequest txn;
    for (const std::size_t end = std::min(jids.size(), begin + 100); begin < end; ++begin) {
      txn.success.push_back({etcd::PutRequest{
          .key = layout.load(jids[begin]),
          .value = layout.encoded(R"({"fun": "test.ping", "tgt": "*", "arg": [], "user": "root"})")}});
    }
    REQUIRE(client->txn(txn, soon()));
  }
}

TEST_CASE("a walk over many jobs finds all in both orders, and a page has a part of them") {
  if (test::no_etcd()) return;
  const test::ManualClock clock;
  const Options options = real_options(shared_etcd().urls(), false);
  std::set<std::string> all{"11000101000000000000", "20010101000000000000", "28991231235959999999",
                            jid_number(5) + "_4711"};
  for (int i = 0; i < 300; ++i) {
    all.insert(jid_number(i * 7));
    all.insert(jid_of(230101000000000000 + i * JidKey{150000000000}));
  }
  const Jids jids(all.begin(), all.end());
  put_loads(options, jids);
  const auto cache = open_etcd(options, clock);
  CHECK(jids_of(*cache) == jids);
  CHECK(jids_of(*cache, {.newest_first = true}) == Jids(jids.rbegin(), jids.rend()));
  CHECK(get_page(*cache, {.newest_first = true}, 100)->loads.size() == 100);
  CHECK(get_page(*cache, {.after = jid_number(70)}, 100)->loads.front().jid == jid_number(77));
}

TEST_CASE("no acknowledged job is missing after the leader is killed under load") {
  if (test::no_etcd()) return;
  test::EtcdCluster cluster({.members = 3});
  const test::ManualClock clock;
  const test::CapturedLog log;
  Options options = real_options(cluster.urls(), false);
  const auto cache = open_etcd(options, clock);
  std::atomic<bool> stop{false};
  std::atomic<int> told{0};
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) {
      const auto durability = i % 10 == 0 ? Durability::durable : Durability::committed;
      if (!cache->save_load(load_of(jid_number(i)), durability)) break;
      if (!cache->returner(jid_number(i), return_of("m1", jid_number(i)))) break;
      ++told;
      std::this_thread::sleep_for(milliseconds(10));
    }
  });
  CHECK(test::eventually([&] { return told >= 50; }));
  cluster.kill(cluster.leader());
  const int before = told;
  CHECK(test::eventually([&] { return told >= before + 50; }));
  CHECK(test::eventually([&] { return cache->get_jid(kJid).ok(); }));
  const int after = told;
  CHECK(test::eventually([&] { return told >= after + 50; }));
  stop = true;
  writer.join();
  REQUIRE(test::eventually([&] { return cache->get_jid(kJid).ok(); }));
  CHECK(jids_of(*cache).size() == static_cast<std::size_t>(told.load()));
  std::size_t returned = 0;
  for (int i = 0; i < told; ++i) returned += cache->get_jid(jid_number(i))->size();
  CHECK(returned == static_cast<std::size_t>(told.load()));
}

}  // namespace
}  // namespace rest_fcgi::returner

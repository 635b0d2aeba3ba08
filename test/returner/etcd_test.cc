// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "../etcd/fake_gateway.h"
#include "etcd/messages.h"
#include "etcd_caches.h"
#include "rest_fcgi/core/base64.h"
#include "rest_fcgi/core/json_document.h"
#include "returner/etcd/store.h"

namespace rest_fcgi::returner {
namespace {

using etcd::FakeGateway;

const std::string kJobsFolder = "/salt/return/jobs/";
const std::string kMinionsFolder = "/salt/return/minions/";

struct Etcd {
  test::ManualClock clock;
  InFakeEtcd in;
  std::unique_ptr<Returner> cache = in.make(clock);

  Returner* operator->() const { return cache.get(); }
  [[nodiscard]] FakeEtcd::Map map() const {
    REQUIRE(cache->get_jid(kJid));  // `get_jid` returns after all returns are in etcd.
    return in.etcd->map();
  }
  void put(const std::string& key, const std::string& value) const { in.etcd->put(key, value); }
};

TEST_CASE("a job of two minions has the same bytes as from Salt's returner") {
  const Etcd etcd;
  const Load load{kJid, Json::string("test.ping"), Json::trusted("[]"), Json::string("*"), "glob", "root", {},
                  {}};
  REQUIRE(etcd->save_load(load, Durability::committed));
  REQUIRE(etcd->returner(kJid, {"m1", Json::boolean(true), 0, true, ""}));
  REQUIRE(etcd->returner(kJid,
                         {"m2", Json::trusted(R"({"ä": "é\n", "n": 1, "f": 1.5, "z": null})"), 0, true, ""}));
  const std::string job = kJobsFolder + kJid;
  FakeEtcd::Map expected{
      {job + "/.load.p",
       "\xd9\x9e{\"fun\": \"test.ping\", \"jid\": \"20261120231500123456\", \"tgt\": \"*\", \"tgt_type\": "
       "\"glob\", \"arg\": [], \"user\": \"root\", \"cmd\": \"publish\", \"kwargs\": {\"delimiter\": "
       "\":\"}}"},
      {job + "/m1/return", "\xa4true"},
      {job + "/m2/return", "\xd9\x2b{\"\xc3\xa4\": \"\xc3\xa9\\n\", \"n\": 1, \"f\": 1.5, \"z\": null}"}};
  for (const std::string minion : {"m1", "m2"}) {
    const std::string folder = job + "/" + minion + "/";
    expected[kMinionsFolder + minion] = "\xb4" + kJid;
    expected[folder + "cmd"] = "\xa9\"_return\"";
    expected[folder + "id"] = "\xa4\"" + minion + "\"";
    expected[folder + "success"] = "\xa4true";
    expected[folder + "retcode"] =
        "\xa1"
        "0";
    expected[folder + "jid"] = "\xb6\"" + kJid + "\"";
    expected[folder + "fun"] = "\xab\"test.ping\"";
    expected[folder + "fun_args"] = "\xa2[]";
  }
  expected[job + "/m1/_stamp"] = "\xbc\"2023-11-14T22:13:20.000000\"";
  expected[job + "/m2/_stamp"] = "\xbc\"2023-11-14T22:13:20.000000\"";
  const FakeEtcd::Map map = etcd.map();
  CHECK(map.size() == 21);
  CHECK(map == expected);
}

TEST_CASE("a job with many minions is written in few parallel transactions within etcd's limits") {
  test::Door first;
  test::Door others;
  const Etcd etcd;
  etcd.in.etcd->door = &first;
  REQUIRE(etcd->save_load(load_of(kJid), Durability::committed));
  CHECK(first.waiting(1) == 1);  // The cache groups later writes while this write waits.
  for (int i = 0; i < 60; ++i) {
    REQUIRE(etcd->returner(kJid, return_of("m" + std::to_string(i), "x")));
  }
  etcd.in.etcd->door = &others;
  first.open();
  CHECK(others.waiting(8) == 8);
  others.open();
  CHECK(etcd.map().size() == 1 + 60 * 10);
  CHECK(etcd.in.etcd->most_at_once() == 8);
  const std::vector<std::size_t> transactions = etcd.in.etcd->transactions();
  CHECK(transactions.size() <= 24);
  for (const std::size_t puts : transactions) CHECK(puts <= 32);
}

TEST_CASE("jobs of Salt's returner are read, with missing and foreign keys") {
  const Etcd etcd;
  const std::string job = kJobsFolder + kJid;
  etcd.put(job + "/.load.p", R"({"id": "m1", "return": true, "fun": "test.arg", "fun_args": [1]})");
  etcd.put(job + "/m1/return", "\xa4true");
  etcd.put(job + "/m1/retcode",
           "\xa1"
           "2");
  etcd.put(job + "/m1/success", "false");
  etcd.put(job + "/m1/something", "\xa3{{{");
  etcd.put(job + "/m1/deeper/return", "5");
  etcd.put(job + "/m2/return", "\"text\"");
  etcd.put(job + "/m3/fun", "\"without a return\"");
  etcd.put(job + "_99/m4/return", "1");
  CHECK(etcd->get_load(kJid)->value().fun.text() == "\"test.arg\"");
  const std::vector<JobReturn> returns = *etcd->get_jid(kJid);
  REQUIRE(returns.size() == 2);
  CHECK(returns[0].minion == "m1");
  CHECK(returns[0].ret.text() == "true");
  CHECK(returns[0].retcode == 2);
  CHECK_FALSE(returns[0].success);
  CHECK(returns[1].ret.text() == "\"text\"");
  CHECK(returns[1].success);
  CHECK(etcd->get_jid(kJid + "_99")->size() == 1);
}

TEST_CASE("keys that belong to no job are ignored") {
  const Etcd etcd;
  etcd.put(kJobsFolder + kJid + "/m1/return", "true");
  etcd.put(kJobsFolder + "20261120231500123457/.load.p", "no JSON");
  etcd.put(kJobsFolder + "req/.load.p", "{}");
  etcd.put("/salt/return/jobs2/20261120231500123458/.load.p", "{}");
  etcd.put(kMinionsFolder + "m1", "\xb4" + kJid);
  etcd.put(kMinionsFolder + "m2",
           "\xb4"
           "20261120231500123459");
  etcd.put(kMinionsFolder + "m3", "no jid");
  etcd.put(kJobsFolder + kJid + "/m1/fun", "\"test.ping\"");
  CHECK(jids_of(*etcd.cache).size() == 1);
  CHECK(jids_of(*etcd.cache, {.newest_first = true}).size() == 1);
  CHECK(etcd->get_load(kJid)->has_value());
  CHECK_FALSE(etcd->get_load("20261120231500123457")->has_value());
  CHECK(etcd->get_jid(kJid)->size() == 1);
}

TEST_CASE("a late return has the function of its job") {
  Etcd etcd;
  Load load = load_of(jid_number(1), "test.arg");
  load.arg = Json::trusted("[1, 2]");
  REQUIRE(etcd->save_load(load, Durability::durable));
  etcd.cache = open_over(etcd.in.etcd, etcd.in.options, etcd.clock);
  REQUIRE(etcd->returner(jid_number(1), return_of("ms-0", "x")));
  const std::string folder = kJobsFolder + jid_number(1) + "/ms-0/";
  CHECK(etcd.map().at(folder + "fun") == "\xaa\"test.arg\"");
  CHECK(etcd.map().at(folder + "fun_args") == "\xa6[1, 2]");
}

TEST_CASE("a jid that another process reserved or used is taken") {
  const Etcd etcd;
  const auto other = open_over(etcd.in.etcd, etcd.in.options, etcd.clock);
  CHECK(*etcd->prep_jid(jid_number(1)));
  CHECK_FALSE(*other->prep_jid(jid_number(1)));
  REQUIRE(other->save_load(load_of(jid_number(2)), Durability::committed));
  CHECK(other->get_load(jid_number(2))->has_value());
  CHECK_FALSE(*etcd->prep_jid(jid_number(2)));
  CHECK(etcd->prep_jid("today").error().kind == ErrorKind::invocation);
}

TEST_CASE("a jid or minion id that cannot be a key is refused") {
  const Etcd etcd;
  const Error of_load = etcd->save_load(load_of("12"), Durability::durable).error();
  CHECK(of_load.kind == ErrorKind::invocation);
  CHECK(of_load.message.find("found the jid '12', expected 20 digits") != std::string::npos);
  const Error of_return = etcd->returner(jid_number(1), return_of("a/b", "x")).error();
  CHECK(of_return.kind == ErrorKind::invocation);
  CHECK(of_return.message.find("found the minion id 'a/b'") != std::string::npos);
  CHECK(etcd->returner("12", return_of("a", "x")));
  CHECK(etcd->save_minions("12", {"a"}));
  CHECK(etcd.map().empty());
}

constexpr std::string_view kHeader = R"({"header":{"cluster_id":"7","revision":"5"})";

std::string ok(std::string_view rest) {
  return FakeGateway::reply(200, std::string(kHeader) + std::string(rest) + "}");
}

/// Returns the reply to a range request for a folder with 10,000 keys. Refuses a request without a limit.
std::string page_of(const std::string& body) {
  JsonDocument document;
  REQUIRE(document.parse(body, JsonLimits::none()));
  std::string mistake;
  const etcd::MessageFields request(document.root(), mistake);
  const std::int64_t limit = request.int64("limit");
  if (limit < 1 || limit > 4096) return FakeGateway::reply(500, "all at once are too many");
  const std::string key = request.bytes("key");
  constexpr int kFirst = 100000;
  constexpr int kEnd = 110000;
  int next = key == "f/" ? kFirst : std::stoi(key.substr(2)) + 1;
  const int end = std::min<int>(kEnd, next + static_cast<int>(limit));
  std::string kvs;
  for (; next < end; ++next) {
    kvs += kvs.empty() ? R"({"key":")" : R"(,{"key":")";
    append_base64(kvs, "f/" + std::to_string(next));
    kvs += R"("})";
  }
  return ok(R"(,"kvs":[)" + kvs + (end < kEnd ? R"(],"more":true)" : "]"));
}

TEST_CASE("the keys of a large folder are read in pages") {
  const FakeGateway gateway([](const FakeGateway::Request& request, const FakeGateway::Send& send) {
    return send(request.path == "/v3/kv/range" ? page_of(request.body) : ok(""));
  });
  const auto store = *make_etcd_store_v3({.endpoints = {gateway.url()}}, std::chrono::seconds(0));
  std::vector<std::string> keys;
  REQUIRE(store->visit("f/", [&](const std::string& key, const std::string&) { keys.push_back(key); }));
  CHECK(keys.size() == 10000);
  CHECK(std::is_sorted(keys.begin(), keys.end()));
  CHECK(gateway.requests().size() < 12);
}

}  // namespace
}  // namespace rest_fcgi::returner

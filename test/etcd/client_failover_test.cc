// SPDX-License-Identifier: MIT
#include <atomic>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "../support/etcd_server.h"
#include "client_calls.h"

namespace rest_fcgi::etcd {
namespace {

using namespace std::chrono_literals;
using test::EtcdCluster;

bool has(Client& client, const std::string& key) {
  const Result<RangeReply> reply = client.range({.key = key}, in());
  return reply && reply->kvs.size() == 1;
}

TEST_CASE("a member that is killed is replaced by the next, and comes back when that one goes") {
  if (test::no_etcd()) return;
  EtcdCluster etcd({.members = 3});
  const auto client = client_of({.endpoints = etcd.urls()});
  REQUIRE(put(*client, "before"));
  etcd.kill(0);
  CHECK(put(*client, "after"));
  CHECK(has(*client, "before"));
  etcd.restart(0);
  etcd.kill(1);
  CHECK(put(*client, "again"));
  CHECK(has(*client, "after"));
  CHECK(client->member_list(in())->size() == 3);
}

TEST_CASE("a leader that is killed costs an election, and no write") {
  if (test::no_etcd()) return;
  EtcdCluster etcd({.members = 3});
  const std::size_t leader = etcd.leader();
  const std::size_t follower = etcd.follower();
  const auto client = client_of({.endpoints = {etcd.url(follower), etcd.url(3 - leader - follower)}});
  REQUIRE(put(*client, "before"));
  etcd.kill(leader);
  CHECK(put(*client, "after"));
  CHECK(has(*client, "after"));
}

TEST_CASE("a leader that is frozen holds nobody for longer than a try") {
  if (test::no_etcd()) return;
  EtcdCluster etcd({.members = 3});
  const std::size_t leader = etcd.leader();
  std::vector<std::string> urls{etcd.url(leader)};
  for (const std::string& url : etcd.urls()) {
    if (url != urls.front()) urls.push_back(url);
  }
  const auto client = client_of({.endpoints = urls});
  REQUIRE(put(*client, "before"));
  etcd.freeze(leader);
  CHECK(put(*client, "after"));
  etcd.thaw(leader);
  CHECK(has(*client, "after"));
}

TEST_CASE("without a quorum a call ends at its deadline, and works again afterwards") {
  if (test::no_etcd()) return;
  EtcdCluster etcd({.members = 3});
  const auto client = client_of({.endpoints = etcd.urls(), .try_timeout = 500ms});
  REQUIRE(put(*client, "before"));
  // The other two were enough to store it.
  REQUIRE(has(*client_of({.endpoints = {etcd.url(2)}}), "before"));
  etcd.kill(0);
  etcd.kill(1);
  const auto start = std::chrono::steady_clock::now();
  const Result<PutReply> write = put(*client, "lost", 4s);
  CHECK(std::chrono::steady_clock::now() - start < 20s);
  REQUIRE_FALSE(write);
  CHECK(write.error().kind == ErrorKind::timeout);
  CHECK(write.error().message.find(etcd.url(0)) != std::string::npos);
  CHECK(client->range({.key = "before"}, in(1500ms)).error().kind == ErrorKind::unavailable);
  CHECK(client->range({.key = "before", .serializable = true}, in())->kvs.size() == 1);
  const Result<TxnReply> once = client->txn({.success = {{PutRequest{"k", "v"}}}}, in(), Repeat::no);
  CHECK(once.error().kind == ErrorKind::timeout);
  etcd.start(0);
  etcd.start(1);
  etcd.await_healthy(0);
  CHECK(put(*client, "after"));
  CHECK(has(*client, "before"));
}

TEST_CASE("a member that is frozen ends at the deadline, and its call is not lost on the client") {
  if (test::no_etcd()) return;
  EtcdCluster etcd;
  const auto client = client_of({.endpoints = etcd.urls()});
  REQUIRE(put(*client, "before"));
  etcd.freeze(0);
  const auto start = std::chrono::steady_clock::now();
  const Result<PutReply> reply = put(*client, "frozen", 3s);
  CHECK(std::chrono::steady_clock::now() - start < 20s);
  REQUIRE_FALSE(reply);
  CHECK(reply.error().kind == ErrorKind::timeout);
  etcd.thaw(0);
  CHECK(put(*client, "after"));
}

TEST_CASE("a lease whose member is killed under way is one lease") {
  if (test::no_etcd()) return;
  EtcdCluster etcd({.members = 3});
  const auto client = client_of({.endpoints = etcd.urls(), .try_timeout = 500ms});
  REQUIRE(put(*client, "before"));
  const std::size_t leader = etcd.leader();
  std::thread killer([&] { etcd.kill(leader); });
  const Result<Lease> granted = client->lease_grant(60s, 0, in());
  killer.join();
  REQUIRE(granted);
  CHECK(granted->granted_ttl == 60);
  CHECK(*client->lease_leases(in()) == std::vector<std::int64_t>{granted->id});
}

TEST_CASE("threads that write while members come and go lose nothing that was acknowledged") {
  if (test::no_etcd()) return;
  EtcdCluster etcd({.members = 3});
  const auto client = client_of({.endpoints = etcd.urls(), .try_timeout = 500ms});
  std::atomic<bool> stop{false};
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; !stop; ++i) {
        if (put(*client, "t/" + std::to_string(t) + "/" + std::to_string(i))) ++good;
        std::this_thread::sleep_for(5ms);
      }
    });
  }
  for (std::size_t member = 0; member < 3; ++member) {
    etcd.kill(member);
    etcd.restart(member);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(good > 0);
  CHECK(client->range({.key = "t/", .range_end = prefix_end("t/"), .count_only = true}, in())->count == good);
}

}  // namespace
}  // namespace rest_fcgi::etcd

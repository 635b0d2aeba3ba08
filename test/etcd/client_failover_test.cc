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

TEST_CASE("a call goes to the next member when one is killed") {
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
  const auto write = put(*client, "lost", 4s);
  CHECK(std::chrono::steady_clock::now() - start < 20s);
  REQUIRE_FALSE(write);
  CHECK(write.error().kind == ErrorKind::timeout);
  CHECK(write.error().message.find(etcd.url(0)) != std::string::npos);
  CHECK(client->range({.key = "before"}, in(1500ms)).error().kind == ErrorKind::unavailable);
  etcd.start(0);
  etcd.start(1);
  etcd.await_healthy(0);
  CHECK(put(*client, "after"));
  CHECK(has(*client, "before"));
}

TEST_CASE("a lease whose member is killed during the grant is granted once") {
  if (test::no_etcd()) return;
  EtcdCluster etcd({.members = 3});
  const auto client = client_of({.endpoints = etcd.urls(), .try_timeout = 500ms});
  REQUIRE(put(*client, "before"));
  const std::size_t leader = etcd.leader();
  std::thread killer([&] { etcd.kill(leader); });
  const Result<std::int64_t> granted = client->lease_grant(60s, in());
  killer.join();
  REQUIRE(granted);
  const std::string leases = etcd.post("/v3/lease/leases", "{}", leader == 0 ? 1 : 0);
  CHECK(leases.find(R"("leases":[{"ID":")" + std::to_string(*granted) + R"("}])") != std::string::npos);
}

TEST_CASE("no acknowledged write is lost while members are killed and restarted") {
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
  CHECK(pairs_below(*client, "t/").size() == static_cast<std::size_t>(good));
}

}  // namespace
}  // namespace rest_fcgi::etcd

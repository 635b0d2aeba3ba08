// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "../support/etcd_server.h"
#include "client_calls.h"

namespace rest_fcgi::etcd {
namespace {

using namespace std::chrono_literals;
using test::EtcdCluster;

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
  const std::string expected = R"("leases":[{"ID":")" + std::to_string(*granted) + R"("}])";
  const auto has_one_lease = [&] {  // another member can learn of the lease later than the leader
    return etcd.post("/v3/lease/leases", "{}", leader == 0 ? 1 : 0).find(expected) != std::string::npos;
  };
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (!has_one_lease() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(20ms);
  CHECK(has_one_lease());
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

// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../support/etcd_server.h"
#include "../support/temp_dir.h"
#include "caches.h"
#include "fake_etcd_store.h"

namespace rest_fcgi::returner {

inline Options etcd_options() {
  Options options;
  options.master_job_cache = "etcd";
  options.etcd.is_chosen = true;
  options.etcd.require_v2 = false;
  return options;
}

inline std::unique_ptr<Returner> open_over(const std::shared_ptr<FakeEtcd>& etcd, const Options& options,
                                           const Clock& clock,
                                           const std::shared_ptr<store::Store>& store = open_store()) {
  auto opened = open_etcd_returner_over(options.etcd, store, clock, std::make_unique<FakeEtcdStore>(etcd),
                                        std::make_unique<FakeEtcdStore>(etcd));
  REQUIRE_MESSAGE(opened.ok(), opened.error().message);
  return *std::move(opened);
}

struct InFakeEtcd {
  test::TempDir dir;
  std::shared_ptr<store::Store> store = open_store(dir / "state/state.db");
  std::shared_ptr<FakeEtcd> etcd = std::make_shared<FakeEtcd>();
  Options options = etcd_options();

  std::unique_ptr<Returner> make(const Clock& clock) { return open_over(etcd, options, clock, store); }
};

using test::shared_etcd;

/// Returns options for a real cluster. Each result has a different root below `/salt/`, where the cluster's
/// user may write.
inline Options real_options(const std::vector<std::string>& urls, bool v2) {
  static std::atomic<int> roots{0};
  Options options = etcd_options();
  options.etcd.require_v2 = v2;
  options.etcd.root = "/salt/return-" + std::to_string(roots++);
  options.etcd.writing.endpoints = urls;
  options.etcd.reading.endpoints = urls;
  for (etcd::Options* client : {&options.etcd.writing, &options.etcd.reading}) {
    client->connect_timeout = std::chrono::seconds(4);
    client->try_timeout = std::chrono::seconds(8);
  }
  return options;
}

inline std::unique_ptr<Returner> open_etcd(const Options& options, const Clock& clock,
                                           const std::shared_ptr<store::Store>& store = open_store()) {
  auto opened = open_etcd_returner(options.etcd, store, clock);
  REQUIRE_MESSAGE(opened.ok(), opened.error().message);
  return *std::move(opened);
}

/// A job cache in a real cluster, or in the fake cluster if etcd is not installed.
template <bool kV2>
struct InEtcd {
  InFakeEtcd otherwise;
  std::unique_ptr<Returner> make(const Clock& clock) {
    if (test::no_etcd()) return otherwise.make(clock);
    return open_etcd(real_options(shared_etcd().urls(), kV2), clock, otherwise.store);
  }
};

}  // namespace rest_fcgi::returner

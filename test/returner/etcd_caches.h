// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <utility>

#include <doctest/doctest.h>

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

}  // namespace rest_fcgi::returner

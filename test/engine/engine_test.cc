// SPDX-License-Identifier: MIT
#include "rest_fcgi/engine/engine.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "../master/embedded/jobs/job_fixture.h"
#include "../support/captured_log.h"
#include "../support/temp_dir.h"
#include "rest_fcgi/auth/revocation_list.h"
#include "rest_fcgi/core/format.h"

using namespace rest_fcgi;

TEST_CASE("a shutdown waits for writes to job caches, and counts unfinished ones as running") {
  const test::CapturedLog log;
  engine::SaltEngine salt{*salt::make_runtime({}, system_clock()), nullptr, nullptr};
  CHECK(engine::shut_down({nullptr, nullptr, salt}, {}) == 0);
  salt.runtime = *salt::make_runtime({}, system_clock());
  salt.recorder = recording::make_recorder(
      returner::Returners::of("failing", std::make_unique<test::FailingCache>()), system_clock());
  CHECK(engine::shut_down({nullptr, nullptr, salt}, system_clock().steady() + std::chrono::seconds(20)) == 1);
  CHECK(log.has("the disk is full"));
}

TEST_CASE("revoke reaches a running process, with each engine, and creates no store") {
  const test::TempDir dir;
  const std::string path = dir / "state/state.db";
  config::Settings settings;
  for (const config::Engine engine : {config::Engine::embedded, config::Engine::salt}) {
    settings.engine = engine;
    for (const std::string& nowhere : {std::string(), dir / "nosuch/state.db"}) {
      settings.store.path = nowhere;
      const Error refused = engine::revoke(settings, "pam", "fred").error();
      CHECK(refused.kind == ErrorKind::configuration);
      CHECK(refused.message.starts_with(format("store: {}: No such file or directory", nowhere)));
    }
    CHECK_FALSE(std::filesystem::exists(dir / "nosuch"));
  }
  const std::shared_ptr<store::Store> store = *store::Store::open({.path = path});
  settings.store.path = path;
  settings.engine = config::Engine::embedded;
  CHECK(engine::revoke(settings, "pam", "fred")->starts_with("0 valid tokens of fred"));

  settings.engine = config::Engine::salt;
  const auth::RevocationList list(store, system_clock());
  const WallTime before = system_clock().wall();
  CHECK(engine::revoke(settings, "pam", "fred")->find(path) != std::string::npos);
  CHECK(*list.has_user("pam", "fred", before));
  CHECK_FALSE(*list.has_user("pam", "fred", system_clock().wall()));
}

TEST_CASE("a range of jids that a clock left more than an hour ahead is ignored") {
  const test::TempDir dir;
  const std::shared_ptr<store::Store> store = *store::Store::open({.path = dir / "state/state.db"});
  const auto reserve = engine::jid_reserve(store);
  constexpr std::int64_t kHour = 3'600'000'000;
  CHECK(reserve(10 * kHour, 1000) == 10 * kHour);
  CHECK(reserve(10 * kHour, 1000) == 10 * kHour + 1000);
  CHECK(reserve(9 * kHour + 2000, 1000) == 10 * kHour + 2000);
  CHECK(reserve(9 * kHour, 1000) == 9 * kHour);
  CHECK_FALSE(engine::jid_reserve(*store::Store::open({})));
}

// SPDX-License-Identifier: MIT
#include "rest_fcgi/engine/engine.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/eventually.h"
#include "../support/fork_alone.h"
#include "../support/temp_dir.h"
#include "rest_fcgi/auth/revocation_list.h"
#include "rest_fcgi/core/format.h"

using namespace rest_fcgi;

namespace {

class EndedRuntime : public salt::Runtime {
 public:
  Result<void> check_event_bus() override { return {}; }
  Result<void> ping_master(SteadyTime) override { return {}; }
  [[nodiscard]] salt::RequestStatistics statistics() const override { return {}; }
  void join_event_bus() override {}
  std::size_t shutdown(SteadyTime) override { return 0; }
};

class FakeRecorder : public recording::Recorder {
 public:
  explicit FakeRecorder(bool is_quick) : is_quick_(is_quick) {}
  [[nodiscard]] const returner::WriteCounts& writes() const override { return writes_; }
  Result<void> flush(SteadyTime) override {
    if (is_quick_) return {};
    return Error{ErrorKind::unavailable, "the job caches take longer"};
  }

 private:
  const bool is_quick_;
  const returner::WriteCounts writes_;
};

}  // namespace

TEST_CASE("unfinished writes to job caches count as running at the end of a shutdown") {
  const test::CapturedLog log;
  const auto shut_down = [](bool is_quick) {
    const engine::SaltEngine salt{std::make_shared<EndedRuntime>(), nullptr,
                                  std::make_shared<FakeRecorder>(is_quick)};
    return engine::shut_down({nullptr, nullptr, salt}, {});
  };
  CHECK(shut_down(true) == 0);
  CHECK(shut_down(false) > 0);
  CHECK(log.has("the job caches take longer"));
}

TEST_CASE("revoke reaches a running process, with each engine, and creates no store") {
  const test::TempDir dir;
  const std::string path = dir / "state/state.db";
  config::Settings settings;
  for (const config::Engine engine : {config::Engine::embedded, config::Engine::salt}) {
    settings.engine = engine;
    for (const std::string& nowhere : {std::string(), dir / "nosuch/state.db"}) {
      settings.store.path = nowhere;
      const auto refused = engine::revoke(settings, "pam", "fred");
      REQUIRE_FALSE(refused);
      CHECK(refused.error().kind == ErrorKind::configuration);
      CHECK(refused.error().message.starts_with(format("store: {}: No such file or directory", nowhere)));
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
  const auto done = engine::revoke(settings, "pam", "fred");
  REQUIRE(done);
  CHECK(done->find(path) != std::string::npos);
  CHECK(*list.has_user("pam", "fred", before));
  CHECK_FALSE(*list.has_user("pam", "fred", system_clock().wall()));
}

TEST_CASE("processes that share a store reserve different jids") {
  const test::TempDir dir;
  constexpr int kProcesses = 4;
  constexpr int kEach = 5'000;
  int pipe_ends[2];
  REQUIRE(::pipe(pipe_ends) == 0);
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = test::fork_alone();
    REQUIRE(child >= 0);
    if (child == 0) {
      bool fine = true;
      {
        auto store = store::Store::open({.path = dir / "state/state.db"});
        fine = store.ok();
        master::JidSource source(system_clock(), fine ? engine::jid_reserve(*std::move(store)) : nullptr);
        for (int n = 0; n < kEach; ++n) fine &= ::write(pipe_ends[1], source.next().data(), 20) == 20;
      }
      ::_exit(fine ? 0 : 1);
    }
    children.push_back(child);
  }
  ::close(pipe_ends[1]);
  std::string text;
  char buffer[65536];
  for (ssize_t n = 0; (n = ::read(pipe_ends[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(pipe_ends[0]);
  for (const pid_t child : children) {
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  std::set<std::string> all;
  for (std::size_t at = 0; at < text.size(); at += 20) all.insert(text.substr(at, 20));
  CHECK(all.size() == kProcesses * kEach);
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

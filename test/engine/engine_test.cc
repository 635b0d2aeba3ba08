// SPDX-License-Identifier: MIT
#include "rest_fcgi/engine/engine.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/manual_clock.h"
#include "../support/temp_dir.h"
#include "rest_fcgi/auth/logins.h"
#include "rest_fcgi/core/format.h"

using namespace rest_fcgi;

namespace {

class EndedRuntime : public salt::Runtime {
 public:
  void join_event_bus() override {}
  std::size_t shutdown(SteadyTime) override { return 0; }
};

class FakeRecorder : public recording::Recorder {
 public:
  explicit FakeRecorder(bool is_quick) : is_quick_(is_quick) {}
  Result<void> flush(SteadyTime) override {
    if (is_quick_) return {};
    return Error{ErrorKind::unavailable, "the job caches take longer"};
  }

 private:
  const bool is_quick_;
};

}  // namespace

TEST_CASE("job caches that are not done at the end of a shutdown count as what still runs") {
  const test::CapturedLog log;
  const auto shut_down = [](bool is_quick) {
    const engine::SaltEngine salt{std::make_shared<EndedRuntime>(), nullptr,
                                  std::make_shared<FakeRecorder>(is_quick)};
    return engine::shut_down({nullptr, salt}, {});
  };
  CHECK(shut_down(true) == 0);
  CHECK(shut_down(false) > 0);
  CHECK(log.has("the job caches take longer"));
}

TEST_CASE(
    "who ends tokens in front of a Salt master hears how far the clock was set back, or why nobody knows") {
  const test::TempDir dir;
  const std::string path = dir / "state/failed_logins";
  config::Settings settings;
  settings.engine = config::Engine::salt;
  settings.auth.logged_out.file = dir / "state/logged_out";
  settings.auth.login_guard.file = path;
  settings.auth.login_guard.file_is_default = true;
  REQUIRE(auth::LoggedOut::make(settings.auth.logged_out, system_clock()));
  const auto answer = [&] {
    const auto done = engine::revoke(settings, "pam", "fred");
    REQUIRE(done);
    return *done;
  };
  const auto is_not_known = [&](std::string_view why) {
    return answer().ends_with(format(
        "they expire. Whether the clock was set back is not known; if it was, tokens from before may be "
        "good yet: login_guard: {}.",
        why));
  };
  CHECK(is_not_known(format("file: {} cannot be opened: No such file or directory", path)));

  settings.auth.login_guard.tries = 0;  // its file also says how late it was
  test::ManualClock ahead;
  ahead.set_back(ahead.wall() - std::chrono::floor<std::chrono::seconds>(system_clock().wall()) -
                 std::chrono::hours(2));
  REQUIRE(auth::Logins::make(settings.auth.login_guard, {}, ahead,
                             *auth::open_login_memory(settings.auth.login_guard)));
  CHECK(answer().find("The clock was set back: tokens that are made in the next 71") != std::string::npos);

  const std::string whole = dir.read("state/failed_logins");
  std::string other_version = whole;
  other_version[7] = '2';
  for (const std::string& found : {other_version, std::string(), whole.substr(0, 64)}) {
    dir.write("state/failed_logins", found);
    CHECK(is_not_known(format("file: {} has {} bytes, and is no table of failed logins of this version", path,
                              found.size())));
    CHECK(dir.read("state/failed_logins") == found);
  }
  std::filesystem::permissions(path, std::filesystem::perms(0640));
  CHECK(is_not_known(format("file: {} has mode 0640, so that others could use it; 0600 is right", path)));
}

TEST_CASE(
    "tokens cannot be ended where nothing says where they stand, or nothing is there; nothing is made") {
  const test::TempDir dir;
  const std::string nowhere = dir / "nosuch";
  config::Settings settings;
  const auto refusal = [&](config::Engine engine, const std::string& place) {
    settings.engine = engine;
    settings.auth.token_dir = settings.auth.logged_out.file = place;
    const auto done = engine::revoke(settings, "pam", "fred");
    REQUIRE_FALSE(done);
    CHECK(done.error().kind == ErrorKind::configuration);
    return done.error().message;
  };
  CHECK(refusal(config::Engine::embedded, "") == "token_dir: it is empty, so tokens are off");
  CHECK(refusal(config::Engine::embedded, nowhere) ==
        format("token_dir: {}: No such file or directory", nowhere));
  CHECK(refusal(config::Engine::salt, "") ==
        "logged_out_file: it is empty, so each process knows its own alone");
  CHECK(refusal(config::Engine::salt, nowhere)
            .starts_with(format("logged_out_file: {}: No such file or directory. A service keeps", nowhere)));
  CHECK_FALSE(std::filesystem::exists(nowhere));
}

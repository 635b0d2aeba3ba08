// SPDX-License-Identifier: MIT
#include "rest_fcgi/engine/engine.h"

#include <memory>

#include <doctest/doctest.h>

#include "../support/captured_log.h"

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

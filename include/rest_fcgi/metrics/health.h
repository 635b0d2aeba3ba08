// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/thread.h"

namespace rest_fcgi::metrics {

/// The result of one check of what the service needs.
struct Check {
  std::string name;
  bool ok = false;
  std::string text;  ///< what is wrong; empty: nothing
};

/// The checks of `/ready`. They run at most once a second, whatever the number of requests, each on a thread
/// of its own. Thread-safe.
class Health {
 public:
  /// Returns an error if the service cannot do its work. It should return by the deadline.
  using Probe = std::function<Result<void>(SteadyTime deadline)>;

  /// `limit`: the time in which a check has to end.
  explicit Health(const Clock& clock, std::chrono::milliseconds limit = std::chrono::seconds(2))
      : clock_(clock), limit_(limit) {}
  /// Waits for running checks.
  ~Health() = default;
  Health(const Health&) = delete;
  Health& operator=(const Health&) = delete;

  /// Adds a check. Call it before `checks`.
  void add(std::string name, Probe probe);

  /// Runs the checks and returns their results within the limit, in the order of `add`. A check that does not
  /// end has failed, and is not started again while it runs.
  [[nodiscard]] std::vector<Check> checks();

 private:
  struct State {
    std::string name;
    Probe probe;
    bool is_running = false;
    std::optional<Result<void>> result{};
    Thread thread{};  // ends before `probe` is destroyed
  };

  void start(State& state, SteadyTime deadline);

  const Clock& clock_;
  const std::chrono::milliseconds limit_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable ended_;
  std::optional<SteadyTime> checked_at_;
  bool is_checking_ = false;
  std::list<State> states_;  // ends first
};

/// Returns whether all checks are good.
[[nodiscard]] bool is_ready(const std::vector<Check>& checks);

/// Returns `{"ready": BOOLEAN, "checks": {NAME: {"ok": BOOLEAN, "text": "..."}}}`.
[[nodiscard]] std::string health_text(const std::vector<Check>& checks);

}  // namespace rest_fcgi::metrics

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

/// The result of one health check, for example of the connection to the master.
struct Check {
  std::string name;
  bool ok = false;
  std::string text;  ///< message about the problem; empty if the check succeeded
};

/// Runs the checks of `/ready`. Each check has its own thread and runs at most once a second, also if there
/// are more requests. Thread-safe.
class Health {
 public:
  /// A function that checks one part of the service, and returns an error if this part does not work. It
  /// should return by the deadline.
  using Probe = std::function<Result<void>(SteadyTime deadline)>;

  /// Makes an object without checks. `limit` is the time limit of each check.
  explicit Health(const Clock& clock, std::chrono::milliseconds limit = std::chrono::seconds(2))
      : clock_(clock), limit_(limit) {}
  /// Waits until the running checks have ended.
  ~Health() = default;
  Health(const Health&) = delete;
  Health& operator=(const Health&) = delete;

  /// Adds a check. Call `add` before the first call of `checks`.
  void add(std::string name, Probe probe);

  /// Runs the checks, and returns their results in the order of the calls of `add`. Returns within the time
  /// limit. A check that has not ended by then counts as failed. It is not started again before it has ended.
  [[nodiscard]] std::vector<Check> checks();

 private:
  struct State {
    std::string name;
    Probe probe;
    bool is_running = false;
    std::optional<Result<void>> result{};
    Thread thread{};  // destroyed first, because the thread uses `probe`
  };

  void start(State& state, SteadyTime deadline);

  const Clock& clock_;
  const std::chrono::milliseconds limit_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable ended_;
  std::optional<SteadyTime> checked_at_;
  bool is_checking_ = false;
  std::list<State> states_;  // destroyed first, so that the threads end before the other members
};

/// Returns whether all checks are good.
[[nodiscard]] bool is_ready(const std::vector<Check>& checks);

/// Returns the body of `/ready`: `{"ready": BOOLEAN, "checks": {NAME: {"ok": BOOLEAN, "text": "..."}}}`.
[[nodiscard]] std::string health_text(const std::vector<Check>& checks);

}  // namespace rest_fcgi::metrics

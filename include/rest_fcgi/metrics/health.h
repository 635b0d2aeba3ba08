// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/thread.h"

namespace rest_fcgi::metrics {

struct Check {
  std::string name;
  bool ok = false;
  std::string text;
};

/// Runs the checks of `/ready`, each on its own thread and at most once a second. Thread-safe.
class Health {
 public:
  /// A function that checks one part of the service until the deadline, and returns an error if the part
  /// fails.
  using Probe = std::function<Result<void>(SteadyTime deadline)>;

  /// `limit` is the time limit of each check.
  static constexpr std::chrono::seconds kPatience{10};

  explicit Health(const Clock& clock, std::chrono::milliseconds limit = std::chrono::seconds(2))
      : clock_(clock), limit_(limit) {}
  /// Waits until the running checks have ended.
  ~Health() = default;
  Health(const Health&) = delete;
  Health& operator=(const Health&) = delete;

  /// Adds a check. REQUIRES: `checks` was not called yet.
  void add(std::string name, Probe probe);

  /// From now on the service counts as stopping: requests that come later are refused. Thread-safe.
  void stop() noexcept { is_stopping_ = true; }
  [[nodiscard]] bool is_stopping() const noexcept { return is_stopping_; }

  /// Runs the checks and returns their results in the order of `add`. A check that exceeds the time limit is
  /// started again only after it has ended. On a busy host, a check may exceed the limit once. The check
  /// therefore counts as failed only if it has exceeded the limit twice in a row and its last success is
  /// older than `kPatience`.
  [[nodiscard]] std::vector<Check> checks();

 private:
  struct State {
    std::string name;
    Probe probe;
    bool is_running = false;
    std::optional<Result<void>> result{};
    std::optional<SteadyTime>
        good_at{};        ///< `good_at` is the end of the last success, absent after a failure.
    unsigned misses = 0;  ///< `misses` counts the calls of `checks` without a result.
    Thread thread{};      // This member is destroyed first, because the thread uses `probe`.
  };

  void start(State& state, SteadyTime deadline) REQUIRES(mutex_);
  [[nodiscard]] Check check_of(const State& state) const;

  const Clock& clock_;
  const std::chrono::milliseconds limit_;
  std::atomic<bool> is_stopping_ = false;
  Mutex mutex_;
  std::condition_variable ended_;
  std::optional<SteadyTime> checked_at_ GUARDED_BY(mutex_);
  bool is_checking_ GUARDED_BY(mutex_) = false;
  // This member is destroyed first, so the threads end before the other members.
  std::list<State> states_ GUARDED_BY(mutex_);
};

[[nodiscard]] bool is_ready(const std::vector<Check>& checks);

/// Returns `ready`, or `not ready` with the failed checks and their texts.
[[nodiscard]] std::string summary_of(const std::vector<Check>& checks);

/// Returns the body of `/ready`: `{"ready": BOOLEAN, "checks": {NAME: {"ok": BOOLEAN, "text": "..."}}}`.
[[nodiscard]] std::string health_text(const std::vector<Check>& checks);

}  // namespace rest_fcgi::metrics

// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::auth {

/// Counts the failed logins of each key in a bounded table of the store. All processes share the table.
/// Thread-safe. Errors of all calls: unavailable.
class FailureTable {
 public:
  /// After `tries` failures within `window`, logins with the key are refused for the time `refuse`. The
  /// window begins with the first failure.
  struct Limit {
    unsigned tries;
    std::chrono::seconds window;
    std::chrono::seconds refuse;
  };

  struct Count {
    unsigned failures = 0;
    /// How long logins with the key are still refused. 0 if they are not refused.
    std::chrono::microseconds refused_for{0};
  };

  FailureTable(std::shared_ptr<store::Store> store, const Clock& clock);

  Result<Count> find(const std::string& key, const Limit& limit);

  /// Counts a failure, unless logins with this key are already refused. Returns the new count.
  Result<Count> add(const std::string& key, const Limit& limit);

  Result<void> reset(const std::string& key);

  /// Returns whether all failures that this process knows have expired. Does not read the store. Every
  /// second, a task reads the failures of other processes from the store.
  [[nodiscard]] bool is_quiet() const { return clock_.wall() >= active_until_.load(); }

  /// Reads from the store the time at which the last counted failure expires. `is_quiet` uses this time.
  Result<void> refresh();

  [[nodiscard]] bool is_writable() const noexcept { return store_->is_writable(); }

 private:
  void note_active(WallTime until);
  void maintain();

  const std::shared_ptr<store::Store> store_;
  const Clock& clock_;
  std::atomic<WallTime> active_until_{};
  // The destructor of `maintaining_` waits for the task `maintain`, which uses the other members.
  store::Store::Registration maintaining_;
};

}  // namespace rest_fcgi::auth

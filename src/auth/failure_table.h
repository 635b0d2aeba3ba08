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

/// Failed logins, counted by key in the table `login_failure`, which all processes share. The table is
/// bounded: beyond the bound, the rows that expire first are removed. Thread-safe. Errors of all calls:
/// unavailable.
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
    std::chrono::microseconds refused_for{0};  ///< time for which logins are still refused; may be 0
  };

  /// `clock` must outlive the object.
  FailureTable(std::shared_ptr<store::Store> store, const Clock& clock);

  [[nodiscard]] Result<Count> find(const std::string& key, const Limit& limit);

  /// Counts one more failure, unless logins with this key are already refused. Returns the new count.
  [[nodiscard]] Result<Count> add(const std::string& key, const Limit& limit);

  [[nodiscard]] Result<void> reset(const std::string& key);

  /// Returns true if no key has failures, as far as this process knows. Does not read the store. This process
  /// learns the counts of other processes in `refresh`, which runs every second.
  [[nodiscard]] bool is_quiet() const { return clock_.wall() >= active_until_.load(); }

  /// Reads from the store when the last failure of any process expires.
  [[nodiscard]] Result<void> refresh();

  [[nodiscard]] bool is_writable() const noexcept { return store_->is_writable(); }

 private:
  void note_active(WallTime until);
  void maintain();

  const std::shared_ptr<store::Store> store_;
  const Clock& clock_;
  std::atomic<WallTime> active_until_{};
  store::Store::Registration maintaining_;  // last member, so that it is destroyed first
};

}  // namespace rest_fcgi::auth

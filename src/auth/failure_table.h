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

/// Failed logins by key, in the table `login_failure`, which all processes share. The table is bounded: the
/// rows that end first are removed. Thread-safe. Errors of all calls: unavailable.
class FailureTable {
 public:
  /// A key is refused for `refuse` after `tries` failures in `window`. The window begins with the first one.
  struct Limit {
    unsigned tries;
    std::chrono::seconds window;
    std::chrono::seconds refuse;
  };

  struct Count {
    unsigned failures = 0;
    std::chrono::microseconds refused_for{0};  ///< 0: is not refused
  };

  /// `clock` must outlive the object.
  FailureTable(std::shared_ptr<store::Store> store, const Clock& clock);

  [[nodiscard]] Result<Count> find(const std::string& key, const Limit& limit);

  /// Counts one more failure, unless the key is refused. Returns the new count.
  [[nodiscard]] Result<Count> add(const std::string& key, const Limit& limit);

  [[nodiscard]] Result<void> reset(const std::string& key);

  /// Returns whether no key has failures, as far as this process knows without reading. Counts of other
  /// processes are known after `refresh`, which runs every second.
  [[nodiscard]] bool is_quiet() const { return clock_.wall() >= active_until_.load(); }

  /// Reads whether other processes counted failures.
  [[nodiscard]] Result<void> refresh();

  [[nodiscard]] bool is_writable() const noexcept { return store_->is_writable(); }

 private:
  void note_active(WallTime until);
  void maintain();

  const std::shared_ptr<store::Store> store_;
  const Clock& clock_;
  std::atomic<WallTime> active_until_{};
  store::Store::Registration maintaining_;  // ends first
};

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "auth/guard_memory.h"
#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::auth {

/// Failed tries by key, in a bounded table. A key is a keyed hash: a stranger can neither find two keys that
/// meet in one slot nor aim at somebody's. Where there is no room, the entry that says least goes: one whose
/// time is over, else the one with the fewest failures, and of these the oldest. So a flood of new keys
/// cannot wash away the one that was tried most. Without locks; thread-safe, and safe between processes.
class GuardTable {
 public:
  using Key = std::uint64_t;

  /// Failures in `window`, counted from the first, until a key is refused, and for how long then.
  struct Limit {
    unsigned tries;
    std::chrono::seconds window;
    std::chrono::seconds refuse;
  };

  struct Count {
    unsigned failures = 0;
    std::chrono::seconds refused_for{0};  ///< 0: is not refused
  };

  /// `words` have to outlive the table.
  explicit GuardTable(std::span<GuardWords::Word> words) : words_(words) {}

  [[nodiscard]] Count find(Key key, const Limit& limit, WallTime now) const;

  /// One failure more; what there are now. One that is refused already stays as it is.
  Count add(Key key, const Limit& limit, WallTime now);

  void forget(Key key);

  static constexpr std::size_t kWays = 8;  ///< slots that a key can be in
  static constexpr unsigned kMostFailures = 4095;

 private:
  [[nodiscard]] std::span<GuardWords::Word> ways_of(Key key) const;

  std::span<GuardWords::Word> words_;
};

}  // namespace rest_fcgi::auth

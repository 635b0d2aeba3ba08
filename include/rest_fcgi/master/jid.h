// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/master/options.h"

namespace rest_fcgi::master {

inline constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                             "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

/// Returns the jid of a time: 20 digits in UTC, `YYYYMMDDhhmmssffffff`, as Salt makes them.
[[nodiscard]] std::string jid_at(WallTime time);

/// Returns the time of a jid; absent for other text and for a date that does not exist.
[[nodiscard]] std::optional<WallTime> jid_time(std::string_view jid) noexcept;

/// Returns a jid's time as Salt's `StartTime`: `2026, Nov 20 23:06:10.043746`; empty for other text.
[[nodiscard]] std::string jid_start_time(std::string_view jid);

/// Checks the jid that a caller chose. Errors: invocation, if it does not have 20 digits, by which job caches
/// sort jobs.
[[nodiscard]] Result<void> check_own_jid(const lowstate::Chunk& chunk);

/// Returns a time in UTC as the `_stamp` of Salt 3006 and 3007: `2026-11-20T23:06:17.380290`. Some clients
/// drop events whose stamp has an offset.
[[nodiscard]] std::string iso_stamp(WallTime time);

/// Reserves `length` microseconds from `now` or later for this process. Returns the first one; absent on
/// failure.
using JidReserve = std::function<std::optional<std::int64_t>(std::int64_t now, std::int64_t length)>;

/// Makes unique, ascending jids. Thread-safe.
///
/// A jid is the clock's microsecond, or the one after the last jid, whichever is later. It is in a range that
/// `reserve` gave to this process; the next range is reserved at its end. On several hosts jids are unique if
/// each host has its own share.
class JidSource {
 public:
  /// Without `reserve`, or while it fails, jids are unique in this process only.
  explicit JidSource(const Clock& clock, JidReserve reserve = nullptr, JidShare share = {});

  [[nodiscard]] std::string next();

 private:
  /// Returns the first microsecond from `least` on that belongs to this host. Hosts with one job cache divide
  /// the microseconds among them, so that their jids differ.
  [[nodiscard]] std::int64_t of_share(std::int64_t least) const;

  const Clock& clock_;
  const JidReserve reserve_;
  const JidShare share_;
  std::mutex mutex_;
  std::int64_t last_ = 0;  // the microsecond of the last jid; guarded by mutex_
  std::int64_t end_ = 0;   // of the reserved range; guarded by mutex_
};

}  // namespace rest_fcgi::master

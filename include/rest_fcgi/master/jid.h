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

/// The jid that stands for a point in time: 20 digits, UTC, `YYYYMMDDhhmmssffffff`, as Salt makes them.
[[nodiscard]] std::string jid_at(WallTime time);

/// The time that a jid stands for; absent where the text is no jid, or names no day of the calendar.
[[nodiscard]] std::optional<WallTime> jid_time(std::string_view jid) noexcept;

/// A jid's time as Salt's `StartTime`: `2026, Nov 20 23:06:10.043746`; empty where the text is no jid.
[[nodiscard]] std::string jid_start_time(std::string_view jid);

/// Refuses a chunk whose caller chose a job id that is not 20 digits: our job caches sort jobs by these.
/// Errors: invocation.
[[nodiscard]] Result<void> check_own_jid(const lowstate::Chunk& chunk);

/// A point in time as the `_stamp` of Salt 3006 and 3007, in UTC: `2026-11-20T23:06:17.380290`. Clients parse
/// this form; some drop events whose stamp has an offset.
[[nodiscard]] std::string iso_stamp(WallTime time);

/// Reserves `length` microseconds, none of them before `now`, which no other process gets. Returns the first;
/// absent where that failed.
using JidReserve = std::function<std::optional<std::int64_t>(std::int64_t now, std::int64_t length)>;

/// Gives out job ids: each later than the one before, none twice. Thread-safe.
///
/// A jid is the clock's microsecond, or the one after the last jid, whichever is later. It lies in a range
/// that `reserve` has given to this process. A new range is reserved when the clock or the jids have passed
/// its end. On several hosts jids are different where each has a share of its own.
class JidSource {
 public:
  /// Without `reserve`, or while it fails, jids are unique in this process only.
  explicit JidSource(const Clock& clock, JidReserve reserve = nullptr, JidShare share = {});

  [[nodiscard]] std::string next();

 private:
  /// Returns the first microsecond of this host's share from `least` on.
  [[nodiscard]] std::int64_t of_share(std::int64_t least) const;

  const Clock& clock_;
  const JidReserve reserve_;
  const JidShare share_;
  std::mutex mutex_;
  std::int64_t last_ = 0;  // the microsecond of the last jid; guarded by mutex_
  std::int64_t end_ = 0;   // of the range that is reserved; guarded by mutex_
};

}  // namespace rest_fcgi::master

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

/// Returns the job id (jid) for a time in the form that Salt uses: 20 digits `YYYYMMDDhhmmssffffff` in UTC.
[[nodiscard]] std::string jid_at(WallTime time);

/// Returns the time that a jid stands for. Returns absent if the text is no jid or its date does not exist.
[[nodiscard]] std::optional<WallTime> jid_time(std::string_view jid) noexcept;

/// Returns a jid's time in the form of Salt's `StartTime`, such as `2026, Nov 20 23:06:10.043746`. Returns an
/// empty text if `jid` is no jid.
[[nodiscard]] std::string jid_start_time(std::string_view jid);

/// Checks a jid that a caller chose. Errors: invocation, if the jid does not have 20 digits. Job caches need
/// 20 digits because they sort jobs by jid.
[[nodiscard]] Result<void> check_own_jid(const lowstate::Chunk& chunk);

/// Returns a time in UTC in the form of `_stamp` in Salt 3006 and 3007, such as `2026-11-20T23:06:17.380290`.
/// The text has no UTC offset, because some clients drop events whose `_stamp` has an offset.
[[nodiscard]] std::string iso_stamp(WallTime time);

/// A function that reserves a range of `length` microseconds for this process. The range begins at `now` or
/// later. Returns its first microsecond; absent on failure.
using JidReserve = std::function<std::optional<std::int64_t>(std::int64_t now, std::int64_t length)>;

/// Makes unique, ascending jids. Thread-safe.
///
/// A jid is the current microsecond, or the microsecond after the last jid if that is later. The microsecond
/// is in a range that `reserve` reserved for this process. When the range is used up, the next range is
/// reserved. Jids of several hosts are unique if each host has its own JidShare.
class JidSource {
 public:
  /// Makes a source. If `reserve` is null or fails, jids are unique only in this process.
  explicit JidSource(const Clock& clock, JidReserve reserve = nullptr, JidShare share = {});

  [[nodiscard]] std::string next();

 private:
  /// Returns the first microsecond from `least` on that belongs to this host's share. Hosts that share a job
  /// cache divide the microseconds between them, so that their jids differ.
  [[nodiscard]] std::int64_t of_share(std::int64_t least) const;

  const Clock& clock_;
  const JidReserve reserve_;
  const JidShare share_;
  std::mutex mutex_;
  std::int64_t last_ = 0;  // the microsecond of the last jid; guarded by mutex_
  std::int64_t end_ = 0;   // end of the reserved range; guarded by mutex_
};

}  // namespace rest_fcgi::master

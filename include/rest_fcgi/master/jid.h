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

/// Returns the job id (jid) for a time. As in Salt, a jid has 20 digits `YYYYMMDDhhmmssffffff` in UTC.
[[nodiscard]] std::string jid_at(WallTime time);

/// Returns the time of a jid. Returns std::nullopt for a malformed jid or date.
[[nodiscard]] std::optional<WallTime> jid_time(std::string_view jid) noexcept;

/// Returns a jid's time in the form of Salt's `StartTime`: `2026, Nov 20 23:06:10.043746`. Returns an empty
/// text for a malformed jid.
[[nodiscard]] std::string jid_start_time(std::string_view jid);

/// Checks a jid that a caller chose. Fails with `invocation` unless the jid has 20 digits, because jids of
/// different lengths cannot be sorted as texts.
[[nodiscard]] Result<void> check_own_jid(const lowstate::Chunk& chunk);

/// Returns a time in UTC in the form of `_stamp` in Salt 3006 and 3007: `2026-11-20T23:06:17.380290`. Some
/// clients drop events whose `_stamp` has an offset from UTC.
[[nodiscard]] std::string iso_stamp(WallTime time);

/// A function that reserves a range of jids, which are times in microseconds, for this process. The range has
/// `length` microseconds. The function returns the first microsecond, which is `now` or later, or nothing on
/// failure.
using JidReserve = std::function<std::optional<std::int64_t>(std::int64_t now, std::int64_t length)>;

/// Makes unique, ascending jids. A jid is the current microsecond, or the microsecond after the last jid if
/// this is later. `reserve` reserves a range of microseconds for this process. Each host needs its own
/// JidShare. Thread-safe.
class JidSource {
 public:
  /// Makes a source of jids. Without a working `reserve`, jids are unique only in this process.
  explicit JidSource(const Clock& clock, JidReserve reserve = nullptr, JidShare share = {});

  [[nodiscard]] std::string next();

 private:
  /// Returns the first microsecond from `least` on that belongs to the JidShare of this host.
  [[nodiscard]] std::int64_t of_share(std::int64_t least) const;

  const Clock& clock_;
  const JidReserve reserve_;
  const JidShare share_;
  std::mutex mutex_;
  std::int64_t last_ = 0;  // `last_` is the last jid, as a time in microseconds. `mutex_` guards it.
  std::int64_t end_ = 0;   // `end_` is the end of the jids reserved for this process. `mutex_` guards it.
};

}  // namespace rest_fcgi::master

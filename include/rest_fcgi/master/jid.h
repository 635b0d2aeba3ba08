// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/master/options.h"
#include "rest_fcgi/master/shared_number.h"

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

/// Gives out job ids: each later than the one before, none twice, neither in this process nor in any other of
/// the same user on this host. Thread-safe.
///
/// All of them count on one 64-bit number in shared memory (`/dev/shm`), the microsecond that was given out
/// last: the next one is the clock's, or the last one and one more, whichever is later. That takes one atomic
/// exchange and no system call, needs nothing cleaned up after a crash, and holds for processes that come one
/// after the other, too. A number over an hour ahead of the clock was left by a clock that has been set back
/// since, and is ignored. On several hosts jids are different where each has a share of its own.
class JidSource {
 public:
  /// `name`: of the shared number; processes that use the same one never make the same jid. Where it cannot
  /// be opened (no `/dev/shm`, not ours), jids are unique in this process only, and the log has a warning.
  explicit JidSource(const Clock& clock, const std::string& name = default_name(), JidShare share = {});

  [[nodiscard]] std::string next();

  /// One name for each user of the host.
  [[nodiscard]] static std::string default_name();

 private:
  const Clock& clock_;
  const JidShare share_;
  std::atomic<std::int64_t> own_{0};  // used where there is no shared one
  SharedNumber shared_;               // null where there is none
};

}  // namespace rest_fcgi::master

// SPDX-License-Identifier: MIT
#include "rest_fcgi/master/jid.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/jid.h"

// A jid is 20 digits: year (4), month, day, hour, minute, second (2 each) and microsecond (6), in UTC.
// Invariants of JidSource whenever `mutex_` is free and a jid was made:
// - `last_` is the newest jid, in microseconds since 1970. `last_ % share_.count` is `share_.mine`.
// - With a working `reserve_`, no other process makes a jid from `last_ + 1` to `end_ - 1`.
// - Jids ascend, unless the clock was set back by more than an hour.

namespace rest_fcgi::master {
namespace {

constexpr std::int64_t kMicrosecondsPerHour = 3'600'000'000;
constexpr std::int64_t kReservedMicroseconds = 10'000;

}  // namespace

Result<void> check_own_jid(const lowstate::Chunk& chunk) {
  if (!chunk.is_local() || chunk.local().jid.empty() || is_jid(chunk.local().jid)) return {};
  return Error{ErrorKind::invocation, format("Lowstate chunk {}: 'jid': found {}, expected {} digits.",
                                             chunk.index, quoted_excerpt(chunk.local().jid), kJidDigits)};
}

JidSource::JidSource(const Clock& clock, JidReserve reserve, JidShare share)
    : clock_(clock), reserve_(std::move(reserve)), share_(share) {}

std::string JidSource::next() {
  const MutexLock lock(mutex_);
  const std::int64_t now = clock_.wall().time_since_epoch().count();
  const bool clock_was_set_back = last_ > now + kMicrosecondsPerHour;
  if (clock_was_set_back) last_ = end_ = 0;
  std::int64_t least = std::max(now, last_ + 1);
  if (reserve_ && of_share(least) >= end_) {
    if (const std::optional<std::int64_t> first = reserve_(least, kReservedMicroseconds)) {
      least = *first;
      end_ = *first + kReservedMicroseconds;
    }
  }
  last_ = of_share(least);
  return jid_at(WallTime(std::chrono::microseconds(last_)));
}

std::int64_t JidSource::of_share(std::int64_t least) const {
  return least + (share_.mine - least % share_.count + share_.count) % share_.count;
}

}  // namespace rest_fcgi::master

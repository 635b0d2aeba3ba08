// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/master/options.h"

namespace rest_fcgi::master {

/// If the caller chose a jid, checks that it has 20 digits. Jids are sorted as texts, so all jids need the
/// same length. Fails with `invocation`.
Result<void> check_own_jid(const lowstate::Chunk& chunk);

/// A function that reserves a range of jids for this process. A jid is a time in microseconds, and the range
/// has `length` microseconds. The function returns the first microsecond of the range, which is `now` or
/// later. On failure, the function returns std::nullopt.
using JidReserve = std::function<std::optional<std::int64_t>(std::int64_t now, std::int64_t length)>;

/// Makes unique, ascending jids. A jid is the current microsecond, or the microsecond after the last jid if
/// this is later. `reserve` reserves a range of microseconds for this process. If several hosts share a job
/// cache, each host needs its own JidShare. Thread-safe.
class JidSource {
 public:
  /// Without a working `reserve`, jids are unique only in this process.
  explicit JidSource(const Clock& clock, JidReserve reserve = nullptr, JidShare share = {});

  [[nodiscard]] std::string next();

 private:
  /// Returns the first microsecond that is not before `least` and belongs to the JidShare of this host.
  [[nodiscard]] std::int64_t of_share(std::int64_t least) const;

  const Clock& clock_;
  const JidReserve reserve_;
  const JidShare share_;
  Mutex mutex_;
  std::int64_t last_ GUARDED_BY(mutex_) = 0;  // `last_` is the last jid, as a time in microseconds.
  std::int64_t end_ GUARDED_BY(mutex_) = 0;   // `end_` is the end of the jids reserved for this process.
};

}  // namespace rest_fcgi::master

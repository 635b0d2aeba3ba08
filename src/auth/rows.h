// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::auth {

/// The tables of the store have times as microseconds since 1970. `row_time` and `time_at` convert them.
inline std::int64_t row_time(WallTime time) {
  return time.time_since_epoch().count();
}
inline WallTime time_at(std::int64_t microseconds) {
  return WallTime(WallTime::duration(microseconds));
}

/// Removes the rows whose time is at most `end`, in small transactions. `sql` is a DELETE statement. Its
/// parameters are `end` and the largest number of rows. If the store cannot be written, the rows stay.
inline void remove_ended(store::Store& store, const char* sql, WallTime end) {
  constexpr std::int64_t kSlice = 500;
  if (!store.is_writable()) return;
  Result<std::int64_t> removed = kSlice;
  while (removed && *removed == kSlice) removed = store.execute(sql, row_time(end), kSlice);
}

}  // namespace rest_fcgi::auth

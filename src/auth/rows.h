// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::auth {

/// Times as the tables have them.
inline std::int64_t row_time(WallTime time) {
  return time.time_since_epoch().count();
}
inline WallTime time_at(std::int64_t microseconds) {
  return WallTime(WallTime::duration(microseconds));
}

inline constexpr std::int64_t kSlice = 500;  // rows that one transaction removes

/// Removes the rows that ended until `end`, in slices. `sql` takes the time and the most rows. Where the
/// store cannot be written, rows stay.
inline void remove_ended(store::Store& store, const char* sql, WallTime end) {
  // A statement that removes nothing succeeds even on a full disk, and would count as a good write.
  if (!store.is_writable()) return;
  Result<std::int64_t> removed = kSlice;
  while (removed && *removed == kSlice) removed = store.execute(sql, row_time(end), kSlice);
}

}  // namespace rest_fcgi::auth

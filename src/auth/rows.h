// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/store/store.h"

/// Functions that all files with SQL in this component use.
namespace rest_fcgi::auth {

/// Tables keep times in microseconds since 1970.
inline std::int64_t row_time(WallTime time) {
  return time.time_since_epoch().count();
}
inline WallTime time_at(std::int64_t microseconds) {
  return WallTime(WallTime::duration(microseconds));
}

/// Removes the rows that have expired at the time `end`, at most 500 in a transaction. The statement `sql`
/// has two parameters: the time and the number of rows. If the store cannot be written, keeps the rows.
inline void remove_ended(store::Store& store, const char* sql, WallTime end) {
  constexpr std::int64_t kSlice = 500;
  // A statement that removes nothing succeeds even on a full disk, and would count as a successful write.
  if (!store.is_writable()) return;
  Result<std::int64_t> removed = kSlice;
  while (removed && *removed == kSlice) removed = store.execute(sql, row_time(end), kSlice);
}

}  // namespace rest_fcgi::auth

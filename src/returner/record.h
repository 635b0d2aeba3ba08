// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/returner/returner.h"

namespace rest_fcgi::returner {

/// A jid, which is a number of 20 digits, as the database's 64-bit key: less 20 * 10^18, so that keys sort as
/// jids do, and this century's read as the jid without its first two digits.
using JidKey = std::int64_t;

/// Absent where the text is not 20 digits, or its year is not between 1100 and 2899.
[[nodiscard]] std::optional<JidKey> key_of(std::string_view jid) noexcept;

[[nodiscard]] std::string jid_of(JidKey key);

/// Why a job cache keeps no job of a jid that has no key.
[[nodiscard]] Error no_key_of(std::string_view jid, std::string_view cache);

/// The keys of the jids from `first` on, and of those up to `last`, as texts compare. Both may be jids, their
/// beginnings, or empty, which bounds nothing.
[[nodiscard]] JidKey least_key(std::string_view first) noexcept;
[[nodiscard]] JidKey greatest_key(std::string_view last) noexcept;

/// The keys of the jids that a query means: from the least to the greatest, both included.
struct JidKeys {
  JidKey least = 0;
  JidKey greatest = 0;
};
[[nodiscard]] JidKeys keys_of(const JobQuery& query) noexcept;

/// Does the query mean that job? Also of a jid that has no key.
[[nodiscard]] bool means(const JobQuery& query, const Load& load);

/// Adds to minions, which are sorted, those that are not among them.
void add_minions(std::vector<std::string>& minions, const std::vector<std::string>& more);

// One call of the returner as bytes: what waits in a spool for the database, or for etcd. The views below
// point into these bytes.

struct LoadView {
  std::int64_t saved = 0;  ///< microseconds since 1970
  std::string_view fun;
  std::string_view arg;
  std::string_view tgt;
  std::string_view tgt_type;
  std::string_view user;
  std::optional<std::string_view> metadata;
  std::string_view minions;  ///< packed
};

struct ReturnView {
  std::string_view minion;
  std::string_view packed;  ///< all of it, as the database keeps it
};

/// One call of the returner.
struct RecordView {
  enum class Kind : std::uint8_t { load = 1, ret = 2, minions = 3, stand_in = 4 };
  Kind kind = Kind::load;
  JidKey key = 0;
  LoadView load;             ///< of a load
  ReturnView ret;            ///< of a return, and of one that stands in
  std::string_view minions;  ///< packed, of save_minions
};

[[nodiscard]] std::string load_record(JidKey key, const Load& load, WallTime saved);
[[nodiscard]] std::string return_record(JidKey key, const JobReturn& ret);
[[nodiscard]] std::string minions_record(JidKey key, const std::vector<std::string>& minions);

/// Absent where the bytes are no record.
[[nodiscard]] std::optional<RecordView> view_of(std::string_view record);

/// A record as it waits for etcd: with the time when it was told.
struct StampedRecord {
  WallTime stamp;
  std::string_view record;
};
[[nodiscard]] std::string stamped_record(WallTime stamp, std::string_view record);
[[nodiscard]] StampedRecord unstamped(std::string_view stamped);

[[nodiscard]] std::string packed_minions(const std::vector<std::string>& minions);
[[nodiscard]] std::vector<std::string> minions_in(std::string_view packed);

/// The first of the returns that are packed one after the other, and moves `packed` behind it; absent at the
/// end.
[[nodiscard]] std::optional<JobReturn> take_return(std::string_view& packed);

}  // namespace rest_fcgi::returner

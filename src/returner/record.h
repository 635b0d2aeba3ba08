// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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

/// How numbers and texts stand in bytes.
enum class Packing : std::uint8_t {
  wide = 0,   ///< as releases before schema 2 did it: what they left is read, nothing is packed so any more
  tight = 1,  ///< lengths take as many bytes as they need, and a return tells only what is not usual
};

struct LoadView {
  std::int64_t saved = 0;  ///< microseconds since 1970
  std::string_view fun;
  std::string_view arg;
  std::string_view tgt;
  std::string_view tgt_type;
  std::string_view user;
  std::optional<std::string_view> metadata;
  std::string_view minions;  ///< packed
  std::string_view returns;  ///< packed, of a job that is whole
  Packing packing = Packing::tight;
};

/// One call of the returner.
struct RecordView {
  enum class Kind : std::uint8_t { load = 1, ret = 2, minions = 3, stand_in = 4 };
  Kind kind = Kind::load;
  Packing packing = Packing::tight;
  JidKey key = 0;
  LoadView load;             ///< of a load
  ReturnView ret;            ///< of a return, and of one that stands in
  std::string_view packed;   ///< the same as bytes, which may be put behind other packed returns
  std::string_view minions;  ///< packed, of save_minions
};

/// A load, and what returned together with it.
[[nodiscard]] std::string load_record(JidKey key, const Load& load, WallTime saved,
                                      std::span<const ReturnView> returns = {});
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
[[nodiscard]] std::vector<std::string> minions_in(std::string_view packed, Packing packing);

/// Returns of a job whose minions these are: they can be read together with the same minions alone. Without
/// minions, of any job.
[[nodiscard]] std::string packed_returns(const std::vector<std::string>& minions,
                                         std::span<const ReturnView> returns);

/// Reads returns that are packed one after the other; of one minion, the last one counts. Borrows both, as
/// what it gives does. Not synchronized.
class ReturnReader {
 public:
  /// `minions`: the job's, packed.
  ReturnReader(std::string_view returns, std::string_view minions, Packing packing) noexcept
      : returns_(returns), minions_(minions), packing_(packing) {}

  /// Absent at the end, and where the rest is no return.
  [[nodiscard]] std::optional<ReturnView> next();

 private:
  std::string_view returns_;  // those that were not read so far, as the next two
  std::string_view minions_;
  std::string_view before_;  // what the one before returned
  Packing packing_;
};

}  // namespace rest_fcgi::returner

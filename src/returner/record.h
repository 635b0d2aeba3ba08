// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/returner/returner.h"
#include "returner/jid_key.h"

/// What waits for the database, as bytes. The views below point into these bytes.
namespace rest_fcgi::returner {

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

[[nodiscard]] std::string packed_minions(const std::vector<std::string>& minions);
[[nodiscard]] std::vector<std::string> minions_in(std::string_view packed);

/// The first of the returns that are packed one after the other, and moves `packed` behind it; absent at the
/// end.
[[nodiscard]] std::optional<JobReturn> take_return(std::string_view& packed);

}  // namespace rest_fcgi::returner

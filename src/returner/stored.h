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

/// How the store's tables hold jids, minions and returns.
namespace rest_fcgi::returner {

/// A jid, which is a number of 20 digits, as a 64-bit key: the jid minus 20 * 10^18. Keys have the order of
/// jids.
using JidKey = std::int64_t;

/// Absent if the text is not 20 digits, or its year is not between 1100 and 2899.
[[nodiscard]] std::optional<JidKey> key_of(std::string_view jid) noexcept;

/// Returns the key of the first 20 digits; for a year before 1100 or after 2899 the first or last key.
[[nodiscard]] JidKey nearest_key(std::string_view jid) noexcept;

[[nodiscard]] std::string jid_of(JidKey key);

/// Returns the key of a jid that is made at `time`.
[[nodiscard]] JidKey key_at(WallTime time) noexcept;

/// Returns the error of a job cache that gets a jid without a key.
[[nodiscard]] Error no_key_of(std::string_view jid, std::string_view cache);

/// The keys from `least` to `greatest`, both included.
struct JidKeys {
  JidKey least = 0;
  JidKey greatest = 0;
};

/// Returns keys that include all jids of a query. `selects` tells which of them the query selects.
[[nodiscard]] JidKeys keys_of(const JobQuery& query) noexcept;

/// Returns whether a query selects the job. The jid may have no key.
[[nodiscard]] bool selects(const JobQuery& query, std::string_view jid, std::string_view fun);

/// Adds the missing minions to a sorted list.
void add_minions(std::vector<std::string>& minions, const std::vector<std::string>& more);

[[nodiscard]] std::string strings_json(const std::vector<std::string>& strings);
[[nodiscard]] std::vector<std::string> strings_in(std::string_view json);

/// Writes a list of returns, without fields that have their usual value.
[[nodiscard]] std::string returns_json(std::span<const ReturnView> returns);
[[nodiscard]] std::vector<JobReturn> returns_in(std::string_view json);

}  // namespace rest_fcgi::returner

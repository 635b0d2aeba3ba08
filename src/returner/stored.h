// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/returner/returner.h"

/// Converts jids, minions and returns to their form in the store's tables.
namespace rest_fcgi::returner {

/// A jid as a signed 64-bit key: the jid's number of 20 digits minus 20 * 10^18, because the number itself
/// does not fit. Keys sort like their jids.
using JidKey = std::int64_t;

/// Returns the key of a jid, which has exactly 20 digits and a year from 1100 to 2899. Returns std::nullopt
/// for any other text.
[[nodiscard]] std::optional<JidKey> key_of(std::string_view jid) noexcept;

/// Returns the key of the first 20 digits of `jid`. If the year is before 1100 or after 2899, returns the
/// smallest or the largest key.
[[nodiscard]] JidKey nearest_key(std::string_view jid) noexcept;

[[nodiscard]] std::string jid_of(JidKey key);

/// Returns the error for a jid that `key_of` refuses. The message names the job cache.
[[nodiscard]] Error no_key_of(std::string_view jid, std::string_view cache);

/// The keys from `least` to `greatest`, including both ends.
struct JidKeys {
  JidKey least = 0;
  JidKey greatest = 0;
};

/// Returns a range of keys that contains all jobs of a query. The range may contain more jobs, so callers
/// check each job with `selects`.
[[nodiscard]] JidKeys keys_of(const JobQuery& query) noexcept;

/// Returns whether a query selects the job. The jid can be any text, even one that `key_of` refuses.
[[nodiscard]] bool selects(const JobQuery& query, std::string_view jid);

/// Inserts minions into a sorted list, without duplicates.
void add_minions(std::vector<std::string>& minions, const std::vector<std::string>& more);

[[nodiscard]] std::string strings_json(const std::vector<std::string>& strings);
[[nodiscard]] std::vector<std::string> strings_in(std::string_view json);

/// Returns minions' returns as a JSON list. Leaves out fields with their default values.
[[nodiscard]] std::string returns_json(std::span<const ReturnView> returns);
[[nodiscard]] std::vector<JobReturn> returns_in(std::string_view json);

}  // namespace rest_fcgi::returner

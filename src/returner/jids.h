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

/// Returns the key of the jid that is made at that time.
[[nodiscard]] JidKey key_at(WallTime time) noexcept;

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

}  // namespace rest_fcgi::returner

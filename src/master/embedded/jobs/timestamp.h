// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::embedded {

/// What `parse_time` reads, for a message.
inline constexpr std::string_view kTimeForms =
    "a jid, 'YYYY-MM-DD' or 'YYYY, Mon DD', each of the latter also with 'HH:MM', 'HH:MM:SS' or "
    "'HH:MM:SS.ffffff' "
    "behind";

/// A point in time in UTC, as callers name it to `jobs.list_jobs`; absent where the text has none of
/// `kTimeForms`.
[[nodiscard]] std::optional<WallTime> parse_time(std::string_view text);

}  // namespace rest_fcgi::embedded

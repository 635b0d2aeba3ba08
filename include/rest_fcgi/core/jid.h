// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi {

inline constexpr std::size_t kJidDigits = 20;

/// Returns whether the text has the form of a job id. The date and time are not checked.
[[nodiscard]] constexpr bool is_jid(std::string_view text) noexcept {
  return text.size() == kJidDigits && only_digits(text);
}

inline constexpr std::size_t kMaxJidLength = 64;

/// Returns whether a caller may choose this job id, which becomes a part of file names and event tags.
/// Returns false for `req`, because a Salt master replaces `req` by a new job id.
[[nodiscard]] constexpr bool is_allowed_jid(std::string_view text) noexcept {
  const auto is_part = [](char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.'; };
  return !text.empty() && text.size() <= kMaxJidLength &&
         (is_letter(text.front()) || is_digit(text.front())) &&
         std::all_of(text.begin(), text.end(), is_part) && text != "req";
}

/// Returns the job id (jid) for a time. As in Salt, a jid has 20 digits `YYYYMMDDhhmmssffffff` in UTC.
[[nodiscard]] std::string jid_at(WallTime time);

/// Returns the time of a jid. Returns std::nullopt for a malformed jid or date.
[[nodiscard]] std::optional<WallTime> jid_time(std::string_view jid);

/// Returns a jid's time in the form of Salt's `StartTime`: `2026, Nov 20 23:06:10.043746`. Returns an empty
/// text for a malformed jid.
[[nodiscard]] std::string jid_start_time(std::string_view jid);

/// Returns a time in UTC in the form of `_stamp` in Salt 3006 and 3007: `2026-11-20T23:06:17.380290`. Salt
/// 3008 appends the offset `+00:00`, but some clients drop events with an offset.
[[nodiscard]] std::string iso_stamp(WallTime time);

/// Returns a time in the form of log lines: `2026-11-20T23:06:17.380Z`.
[[nodiscard]] std::string log_stamp(WallTime time);

}  // namespace rest_fcgi

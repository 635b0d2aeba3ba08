// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "rest_fcgi/core/text.h"

namespace rest_fcgi::lowstate {

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

}  // namespace rest_fcgi::lowstate

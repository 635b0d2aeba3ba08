// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "rest_fcgi/core/text.h"

namespace rest_fcgi::lowstate {

inline constexpr std::size_t kJidDigits = 20;

/// Has this the form of a job id? The day and time in it are not looked at.
[[nodiscard]] constexpr bool is_jid(std::string_view text) noexcept {
  return text.size() == kJidDigits && only_digits(text);
}

inline constexpr std::size_t kLongestOwnJid = 64;

/// Returns whether a caller may choose this text as a job id. A Salt master takes any text, and masters and
/// minions use it in names of files and in tags of events. `req` is the master's word for "make a new one".
[[nodiscard]] constexpr bool is_own_jid(std::string_view text) noexcept {
  const auto is_part = [](char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.'; };
  return !text.empty() && text.size() <= kLongestOwnJid &&
         (is_letter(text.front()) || is_digit(text.front())) &&
         std::all_of(text.begin(), text.end(), is_part) && text != "req";
}

}  // namespace rest_fcgi::lowstate

// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

namespace rest_fcgi::lowstate {

inline constexpr std::size_t kJidDigits = 20;

/// Has this the form of a job id? The day and time in it are not looked at.
[[nodiscard]] constexpr bool is_jid(std::string_view text) noexcept {
  return text.size() == kJidDigits && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace rest_fcgi::lowstate

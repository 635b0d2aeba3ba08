// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

#include "rest_fcgi/core/text.h"

namespace rest_fcgi::lowstate {

inline constexpr std::size_t kJidDigits = 20;

/// Has this the form of a job id? The day and time in it are not looked at.
[[nodiscard]] constexpr bool is_jid(std::string_view text) noexcept {
  return text.size() == kJidDigits && only_digits(text);
}

}  // namespace rest_fcgi::lowstate

// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

namespace rest_fcgi {

/// Length of the well-formed UTF-8 sequence (Unicode 15, table 3-7) that starts `text`; 0 where none does.
[[nodiscard]] std::size_t utf8_length(std::string_view text) noexcept;

}  // namespace rest_fcgi

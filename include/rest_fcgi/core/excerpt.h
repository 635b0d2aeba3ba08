// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rest_fcgi {

/// Length of the well-formed UTF-8 sequence (Unicode 15, table 3-7) that starts `text`; 0 where none does.
[[nodiscard]] std::size_t utf8_length(std::string_view text) noexcept;

/// Where `text` is no UTF-8; its size: nowhere.
[[nodiscard]] std::size_t first_bad_byte(std::string_view text) noexcept;

[[nodiscard]] inline bool is_utf8(std::string_view text) noexcept {
  return first_bad_byte(text) == text.size();
}

/// `text` for a message or a log: where it has more than `most` bytes, as many whole characters of UTF-8 as
/// fit, and three dots.
[[nodiscard]] std::string excerpt(std::string_view text, std::size_t most);

/// A caller's text for a message: in quotes, and not longer than a sentence bears.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace rest_fcgi

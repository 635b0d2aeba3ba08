// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rest_fcgi {

/// Returns the length of the UTF-8 sequence (Unicode 15, table 3-7) at the start of `text`; 0 if it is
/// malformed.
[[nodiscard]] std::size_t utf8_length(std::string_view text) noexcept;

/// Returns the offset of the first byte that is not UTF-8; the size of `text` if there is none.
[[nodiscard]] std::size_t first_bad_byte(std::string_view text) noexcept;

[[nodiscard]] inline bool is_utf8(std::string_view text) noexcept {
  return first_bad_byte(text) == text.size();
}

/// Returns `text` cut to at most `most` bytes, between characters, followed by three dots if it was cut.
[[nodiscard]] std::string excerpt(std::string_view text, std::size_t most);

/// Returns a caller's text for a message: in single quotes and cut to 64 bytes.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace rest_fcgi

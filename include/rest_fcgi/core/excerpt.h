// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rest_fcgi {

/// Returns the length in bytes of the UTF-8 sequence at the start of `text` (Unicode 15, table 3-7), or 0 if
/// the sequence is malformed.
[[nodiscard]] std::size_t utf8_length(std::string_view text) noexcept;

/// Returns the offset of the first byte that is not valid UTF-8. Returns the size of `text` if all bytes are
/// valid.
[[nodiscard]] std::size_t first_bad_byte(std::string_view text) noexcept;

[[nodiscard]] inline bool is_utf8(std::string_view text) noexcept {
  return first_bad_byte(text) == text.size();
}

/// Returns `text`, or its first `most` bytes and three dots if `text` is longer. The cut is between two
/// characters.
[[nodiscard]] std::string excerpt(std::string_view text, std::size_t most);

/// Returns a caller's text in the form for messages: cut to 64 bytes and in single quotes.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace rest_fcgi

// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rest_fcgi {

/// Returns the length in bytes of the first UTF-8 sequence of `text` (Unicode 15, table 3-7). Returns 0 if
/// the sequence is malformed.
[[nodiscard]] std::size_t utf8_length(std::string_view text) noexcept;

/// Returns the offset of the first byte that is not valid UTF-8, or the size of `text` if all bytes are
/// valid.
[[nodiscard]] std::size_t first_bad_byte(std::string_view text) noexcept;

[[nodiscard]] inline bool is_utf8(std::string_view text) noexcept {
  return first_bad_byte(text) == text.size();
}

/// Returns `text`. If the text has more bytes than the parameter `most`, cuts it between two characters and
/// adds three dots.
[[nodiscard]] std::string excerpt(std::string_view text, std::size_t most);

/// Returns an excerpt of at most 64 bytes of `text`, in single quotes, for messages.
[[nodiscard]] std::string quoted_excerpt(std::string_view text);

}  // namespace rest_fcgi

// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

/// What the files of /proc and their like are read with.
namespace rest_fcgi::embedded {

/// What a file says now; no more than its first `most` bytes. Absent where it cannot be read, or vanishes
/// meanwhile. Never waits for a pipe's other end.
[[nodiscard]] std::optional<std::string> read_text(const std::string& path, std::size_t most = 4 << 20);

/// The lines that are not empty.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);

/// What stands between blanks, as Python's `split()` finds it.
[[nodiscard]] std::vector<std::string_view> words_of(std::string_view line);

/// Without blanks at both ends.
[[nodiscard]] std::string_view stripped(std::string_view text);

/// With ASCII letters in lower case.
[[nodiscard]] std::string lower(std::string_view text);

/// The number that is all of the text; absent where it is none, or too large.
template <class Number>
[[nodiscard]] std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// What stands before and behind the first colon, both stripped; absent where there is none.
struct Entry {
  std::string_view key;
  std::string_view value;
};
[[nodiscard]] std::optional<Entry> entry_of(std::string_view line);

}  // namespace rest_fcgi::embedded

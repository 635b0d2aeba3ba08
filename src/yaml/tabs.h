// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

namespace rest_fcgi::yaml {

constexpr std::string_view kTabRefused = "YAML allows no tabs here, indent with spaces";

/// Returns the column of a tab that stands before the first key or value of the line with the number `line`.
/// Returns std::nullopt if this line has no such tab. Lines count from 1.
[[nodiscard]] inline std::optional<std::size_t> indenting_tab(std::string_view text, std::size_t line) {
  for (; line > 1; --line) text.remove_prefix(std::min(text.find('\n') + 1, text.size()));
  const std::size_t content = std::min(text.find_first_not_of(" \t-"), text.size());
  const std::size_t tab = text.substr(0, content).find('\t');
  return tab == std::string_view::npos ? std::nullopt : std::optional(tab + 1);
}

}  // namespace rest_fcgi::yaml

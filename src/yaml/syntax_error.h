// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rest_fcgi::yaml {

/// The place of a syntax error in a YAML text, and its message. Lines and columns count from 1.
struct SyntaxError {
  std::size_t line;
  std::size_t column;
  std::string text;
};

/// Replaces the message of a yaml-cpp error by plain words, and its line by the line of the cause. Messages
/// do not show values, because values may be passwords. An unknown message stays unchanged.
[[nodiscard]] SyntaxError explain(std::string_view text, const SyntaxError& found);

/// Returns the message for a line `KEY:VALUE` that should be `KEY: VALUE`. The message shows only the key.
[[nodiscard]] std::string describe_missing_colon(std::string_view content);

}  // namespace rest_fcgi::yaml

// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rest_fcgi::yaml {

/// Where a text is no YAML, and what is wrong there. Lines and columns count from 1. Value type.
struct SyntaxError {
  std::size_t line;
  std::size_t column;
  std::string text;
};

/// Says an error of yaml-cpp in plain words: what was found, and what is expected. The line is that of the
/// cause, which may be before the line where yaml-cpp noticed the error. Values are not shown, since they may
/// be passwords. A message that yaml-cpp does not have is left as it is.
[[nodiscard]] SyntaxError explain(std::string_view text, const SyntaxError& found);

/// Says what is wrong with `KEY:VALUE` or `KEY`, where `KEY: VALUE` is expected. Shows the key alone.
[[nodiscard]] std::string describe_missing_colon(std::string_view content);

}  // namespace rest_fcgi::yaml

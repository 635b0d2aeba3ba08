// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rest_fcgi::lowstate {

/// Reads the YAML string in single or double quotes that begins at `text[at]`, and moves `at` behind it.
/// Absent where the quotes are not closed, or where an escape is none of YAML's.
[[nodiscard]] std::optional<std::string> parse_quoted(std::string_view text, std::size_t& at);

}  // namespace rest_fcgi::lowstate

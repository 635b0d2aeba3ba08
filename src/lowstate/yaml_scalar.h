// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "rest_fcgi/core/json.h"

namespace rest_fcgi::lowstate {

/// What YAML 1.1 takes a word without quotes for, by PyYAML's rules and Salt's one change to them: an integer
/// with leading zeros is decimal, not octal. What JSON cannot hold, such as `.inf` or a date, stays the text
/// that it is.
[[nodiscard]] Json resolve_plain_scalar(std::string_view text);

}  // namespace rest_fcgi::lowstate

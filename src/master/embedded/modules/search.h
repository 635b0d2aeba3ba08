// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "rest_fcgi/core/pattern.h"

namespace rest_fcgi::embedded {

/// A regular expression whose `match_start` finds it anywhere, as Python's `re.search` does. Errors:
/// invocation, naming the offset where the pattern goes wrong.
[[nodiscard]] Result<Regex> search_pattern(std::string_view pattern);

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "master/embedded/python/raised.h"

namespace rest_fcgi::embedded {

/// The words of a command line as Python's `shlex.split` finds them: quotes and backslashes of a shell, and
/// nothing else of one. Errors: what Python raises about a quotation or an escape that does not end.
[[nodiscard]] std::variant<std::vector<std::string>, Raised> shlex_split(std::string_view text);

}  // namespace rest_fcgi::embedded

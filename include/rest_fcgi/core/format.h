// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/core.h>

namespace rest_fcgi {

/// C++20's `std::format`, which g++ 12 lacks.
using fmt::format;

}  // namespace rest_fcgi

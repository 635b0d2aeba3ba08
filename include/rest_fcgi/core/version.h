// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace rest_fcgi {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace rest_fcgi

// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace rest_fcgi::salt {

/// Arrays and maps inside each other, and extensions that hold values. Salt's own packer stops at 511, so
/// what is deeper was not packed by a master; and core's `JsonDocument` reads as many levels.
inline constexpr std::size_t kMaxDepth = 600;

}  // namespace rest_fcgi::salt

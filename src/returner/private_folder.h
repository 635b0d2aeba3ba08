// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "rest_fcgi/core/result.h"

namespace rest_fcgi::returner {

/// Makes a folder for this user's files alone, and the one above it, where they are missing. Errors:
/// unavailable, where that fails, and where others could put files into it.
[[nodiscard]] Result<void> make_private_folder(const std::string& directory);

}  // namespace rest_fcgi::returner

// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::config {

/// The text of a configuration file. It may hold secrets, so it is wiped after use.
/// Errors: configuration: it cannot be read, is no regular file, is absurdly large, or any user may write to
/// it.
[[nodiscard]] Result<WipedBytes> read_file(const std::string& path);

}  // namespace rest_fcgi::config

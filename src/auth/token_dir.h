// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "auth/files.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::auth {

/// Opens the directory of tokens. Makes it, for its owner alone, and also the one above it where they are
/// missing. Errors: configuration, for a path that cannot be used, or where somebody other than this
/// process's user and root could put tokens into it.
Result<UniqueFd> open_token_dir(const std::string& path);

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::auth {

enum class Links { follow, refuse };

/// All bytes of a regular file, `path` being relative to the directory `directory`. Never waits for a pipe or
/// device that somebody put in its place. Errors: not_found; internal, with the cause.
Result<WipedBytes> read_regular_file(int directory, const std::string& path, Links links,
                                     std::size_t max_size);

}  // namespace rest_fcgi::auth

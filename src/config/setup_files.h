// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "rest_fcgi/core/result.h"

/// Functions for the files that `--init` writes.
namespace rest_fcgi::config {

[[nodiscard]] Error init_error(std::string text);

/// Returns an error if `path` exists.
Result<void> refuse_existing(const std::string& path);

/// Writes a new file. Errors: configuration, if `path` exists or cannot be written.
Result<void> write_new(const std::string& path, std::string_view text, gid_t group, mode_t mode);

/// Returns the text of a small file, or an empty text if the file cannot be read.
[[nodiscard]] std::string text_of_file(const std::string& path);

}  // namespace rest_fcgi::config

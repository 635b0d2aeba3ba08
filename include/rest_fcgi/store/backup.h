// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "rest_fcgi/core/result.h"

namespace rest_fcgi::store {

/// Copies the database `path` to the new file `copy`, which only its owner can read. Other processes may use
/// the database. Errors: configuration, if `path` is not a database of this program, or if `copy` exists or
/// cannot be made; unavailable.
Result<void> back_up(const std::string& path, const std::string& copy);

/// Replaces the database `path` by the content of the open file `copy`. After an error the database is
/// unchanged. Errors: configuration, if another process uses the database, or if the content is damaged or is
/// not a database of this program.
Result<void> restore(const std::string& path, int copy);

}  // namespace rest_fcgi::store

// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/store/connection.h"

namespace rest_fcgi::store {

/// Returns an error of the kind configuration.
[[nodiscard]] Error unusable(std::string message);

/// Returns whether the database has the tables of this program. Returns false for an empty database. Errors:
/// configuration, if the database belongs to another application or version.
Result<bool> has_tables(Connection& connection);

}  // namespace rest_fcgi::store

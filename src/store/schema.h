// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/store/connection.h"

namespace rest_fcgi::store {

/// Returns the error of a database that cannot be used.
[[nodiscard]] inline Error unusable(std::string message) {
  return {ErrorKind::configuration, std::move(message)};
}

/// Checks that the database is ours, or empty. Reads only. Errors: configuration, without the path, for one
/// of another application or version, or one that cannot be read.
[[nodiscard]] Result<void> check_owner(Connection& connection);

/// Makes the tables where the database is empty. Several processes may do so at once. Errors: configuration.
[[nodiscard]] Result<void> create_tables(Connection& connection);

}  // namespace rest_fcgi::store

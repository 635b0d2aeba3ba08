// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>
#include <string>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/returner/options.h"
#include "returner/sqlite_connection.h"

namespace rest_fcgi::returner {

/// Each makes the schema of the version before into the next one; the first begins with an empty database.
[[nodiscard]] std::span<const char* const> migrations();

/// Makes the database's folder and file where they are missing, for their owner alone. Errors: unavailable,
/// also where others may write into the folder, or own it: what is found in it is trusted.
[[nodiscard]] Result<void> make_database_file(const std::string& path);

/// Brings an open database to the newest schema, also while others do the same. Errors: unavailable; for a
/// database of another application, or of a newer version, it says so.
[[nodiscard]] Result<void> migrate(SqliteConnection& connection, std::span<const char* const> migrations);

/// A connection to the database, which is made or brought up to date where needed, ready to write to.
/// Errors: unavailable, without the path.
[[nodiscard]] Result<std::unique_ptr<SqliteConnection>> open_database(const SqliteOptions& options);

}  // namespace rest_fcgi::returner

// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/returner/returner.h"
#include "returner/jid_key.h"
#include "returner/sqlite_connection.h"

/// What is read from the database. Errors of all: unavailable, with SQLite's words.
namespace rest_fcgi::returner {

[[nodiscard]] Result<void> find_load(SqliteConnection& connection, JidKey key, std::optional<Load>& load);

/// In the order of the minions' ids.
[[nodiscard]] Result<void> find_returns(SqliteConnection& connection, JidKey key,
                                        std::vector<JobReturn>& returns);

/// For each minion the newest return of that function, in the order of the minions' ids.
[[nodiscard]] Result<void> find_newest(SqliteConnection& connection, std::string_view fun,
                                       std::vector<FunctionReturn>& returns);

[[nodiscard]] Result<void> walk_loads(SqliteConnection& connection, const JobQuery& query,
                                      const LoadVisitor& visit);

[[nodiscard]] Result<void> find_minions(SqliteConnection& connection, std::vector<std::string>& minions);

}  // namespace rest_fcgi::returner

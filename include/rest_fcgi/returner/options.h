// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace rest_fcgi::returner {

/// Salt's `sqlite3.*` keys.
struct SqliteOptions {
  std::string database;  ///< absolute path
  /// Nobody chose this job cache: where there is no database and none can be made, jobs are kept in memory
  /// and the log says so. Else a database that cannot be used is a mistake.
  bool is_default = false;
  std::chrono::milliseconds timeout{5000};    ///< for other processes that hold the database's lock
  std::size_t spool_bytes = 8 * 1024 * 1024;  ///< of what waits for the database
};

struct Options {
  std::string master_job_cache = "memory";  ///< or sqlite3
  std::vector<std::string> ext_job_cache;   ///< those that get all returns as well
  /// Salt's `keep_jobs_seconds`; 0 keeps jobs for ever.
  std::chrono::seconds keep_jobs_seconds{86400};
  /// How much the job cache in memory keeps; beyond either limit the oldest jobs go first.
  std::size_t max_jobs = 4096;
  std::size_t max_bytes = 8 * 1024 * 1024;  ///< of loads and returns, as JSON text
  SqliteOptions sqlite3;                    ///< opened where a cache above names it, or somebody chose it
};

}  // namespace rest_fcgi::returner

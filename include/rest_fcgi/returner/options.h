// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "rest_fcgi/etcd/options.h"

namespace rest_fcgi::returner {

/// Salt's `sqlite3.*` keys.
struct SqliteOptions {
  std::string database;  ///< absolute path
  /// Nobody chose this job cache: where there is no database and none can be made, jobs are kept in memory
  /// and the log says so. Else a database that cannot be used is a mistake.
  bool is_default = false;
  std::chrono::milliseconds timeout{5000};  ///< for other processes that hold the database's lock
};

/// What becomes of bytes in etcd that are no UTF-8.
enum class UnicodeErrors {
  replace,  ///< U+FFFD stands for them
  strict,   ///< the value is not read as JSON, but shown as text
};

/// Salt's `etcd.*` keys, with its profiles.
struct EtcdOptions {
  bool is_chosen = false;  ///< it is opened, also where no cache below names it
  bool require_v2 = true;  ///< the cluster's API v2; else v3
  std::string root = "/salt/return";
  etcd::Options writing;  ///< by `etcd.returner_write_profile`
  etcd::Options reading;  ///< by `etcd.returner_read_profile`
  /// What is written goes after that time; 0: never.
  std::chrono::seconds ttl{0};
  bool encode_values = true;  ///< as msgpack, in API v3
  UnicodeErrors unicode_errors = UnicodeErrors::replace;
  std::string spool;  ///< absolute path that those of the spools begin with
};

struct Options {
  std::string master_job_cache = "memory";  ///< or sqlite3, or etcd
  std::vector<std::string> ext_job_cache;   ///< those that get all returns as well
  /// Salt's `keep_jobs_seconds`; 0 keeps jobs for ever.
  std::chrono::seconds keep_jobs_seconds{86400};
  /// How much the job cache in memory keeps; beyond either limit the oldest jobs go first.
  std::size_t max_jobs = 4096;
  std::size_t max_bytes = 8 * 1024 * 1024;    ///< of loads and returns, as JSON text
  std::size_t spool_bytes = 8 * 1024 * 1024;  ///< of what waits for the database, or for etcd
  SqliteOptions sqlite3;                      ///< opened where a cache above names it, or somebody chose it
  EtcdOptions etcd;                           ///< the same
};

}  // namespace rest_fcgi::returner

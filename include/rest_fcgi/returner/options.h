// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "rest_fcgi/etcd/options.h"

namespace rest_fcgi::returner {

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
  /// Bytes of the writes that wait in the store; beyond them jobs are refused or lost.
  std::size_t outbox_bytes = std::size_t{64} << 20;
};

struct Options {
  std::string master_job_cache = "memory";  ///< or sqlite3, or etcd
  std::vector<std::string> ext_job_cache;   ///< those that get all returns as well
  /// Salt's `keep_jobs_seconds`; 0 keeps jobs for ever.
  std::chrono::seconds keep_jobs_seconds{86400};
  /// Bytes of the database beyond which the oldest jobs go. Absent: 8 MiB in memory, 1 GiB on the disk.
  std::optional<std::size_t> max_bytes;
  EtcdOptions etcd;  ///< opened where a cache above names it, or the file chose it
};

}  // namespace rest_fcgi::returner

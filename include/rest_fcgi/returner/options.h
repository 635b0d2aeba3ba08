// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "rest_fcgi/etcd/options.h"

namespace rest_fcgi::returner {

/// Salt's `etcd.*` keys, with its profiles.
struct EtcdOptions {
  bool is_chosen = false;  ///< opened although no cache below names it
  bool require_v2 = true;  ///< API v2; else v3
  std::string root = "/salt/return";
  etcd::Options writing;  ///< by `etcd.returner_write_profile`
  etcd::Options reading;  ///< by `etcd.returner_read_profile`
  /// The life of jobs; 0: they are kept for ever.
  std::chrono::seconds ttl{0};
  bool encode_values = true;  ///< as msgpack, in API v3
  /// Bytes of the writes that wait for etcd; beyond them jobs are refused or lost.
  std::size_t outbox_bytes = std::size_t{64} << 20;
};

struct Options {
  std::string master_job_cache = "memory";  ///< or sqlite3, or etcd
  std::vector<std::string> ext_job_cache;   ///< caches that get all returns, too
  /// Salt's `keep_jobs_seconds`; 0 keeps jobs for ever.
  std::chrono::seconds keep_jobs_seconds{86400};
  /// Bytes of the database beyond which the oldest jobs are deleted. Absent: 8 MiB in memory, 1 GiB on disk.
  std::optional<std::size_t> max_bytes;
  EtcdOptions etcd;
};

}  // namespace rest_fcgi::returner

// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "rest_fcgi/etcd/options.h"

namespace rest_fcgi::returner {

/// Options of the job cache `etcd`, from Salt's keys `etcd.*` and Salt's profiles.
struct EtcdOptions {
  /// Whether to open the job cache `etcd` even if neither `master_job_cache` nor `ext_job_cache` names it.
  bool is_chosen = false;
  bool require_v2 = true;  ///< Whether to use API v2 of etcd. If false, API v3 is used.
  std::string root = "/salt/return";
  etcd::Options writing;  ///< `writing` has the options for writes (`etcd.returner_write_profile`).
  etcd::Options reading;  ///< `reading` has the options for reads (`etcd.returner_read_profile`).
  /// etcd deletes a job after the time `ttl`. 0 means that etcd keeps jobs for ever.
  std::chrono::seconds ttl{0};
  bool encode_values = true;  ///< With API v3, `encode_values` makes the job cache encode values as msgpack.
  /// `outbox_bytes` limits the total size of the writes that wait for etcd. If the limit is reached,
  /// asynchronous jobs are refused and other writes are lost.
  std::size_t outbox_bytes = std::size_t{64} << 20;
};

struct Options {
  /// The job cache that runners read: `memory`, `sqlite3` or `etcd`.
  std::string master_job_cache = "memory";
  std::vector<std::string> ext_job_cache;  ///< `ext_job_cache` names more caches for all jobs and returns.
  /// Jobs are deleted at the age `keep_jobs_seconds`, as in Salt. 0 means that jobs are kept for ever.
  std::chrono::seconds keep_jobs_seconds{86400};
  /// The largest size of the database in bytes. If the database is larger, the oldest jobs are deleted. If
  /// absent, the limit is 8 MiB for a database in memory and 1 GiB on disk.
  std::optional<std::size_t> max_bytes;
  EtcdOptions etcd;
};

}  // namespace rest_fcgi::returner

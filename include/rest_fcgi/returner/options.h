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
  bool is_chosen = false;  ///< Whether etcd is opened even if no option of `Options` names it.
  bool require_v2 = true;  ///< Whether API v2 of etcd is used, and not API v3.
  std::string root = "/salt/return";
  etcd::Options writing;  ///< The options for writes (`etcd.returner_write_profile`).
  etcd::Options reading;  ///< The options for reads (`etcd.returner_read_profile`).
  /// The time after which etcd deletes a job. 0 means that etcd keeps jobs for ever.
  std::chrono::seconds ttl{0};
  bool encode_values = true;  ///< Whether values in API v3 are encoded as msgpack.
  /// The largest size in bytes of the writes that wait for etcd. Beyond this size, jobs are refused or lost.
  std::size_t outbox_bytes = std::size_t{64} << 20;
};

struct Options {
  /// The job cache that runners read: `memory`, `sqlite3` or `etcd`.
  std::string master_job_cache = "memory";
  std::vector<std::string> ext_job_cache;  ///< More job caches, which get all jobs and returns.
  /// Salt's `keep_jobs_seconds`: the age at which jobs are deleted. 0 means that jobs are kept for ever.
  std::chrono::seconds keep_jobs_seconds{86400};
  /// The largest size of the database in bytes. In a larger database, the oldest jobs are deleted. Absent for
  /// 8 MiB in memory and 1 GiB on disk.
  std::optional<std::size_t> max_bytes;
  EtcdOptions etcd;
};

}  // namespace rest_fcgi::returner

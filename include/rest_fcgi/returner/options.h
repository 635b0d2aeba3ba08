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
  bool is_chosen = false;  ///< whether etcd is opened even if no option of `Options` names it
  bool require_v2 = true;  ///< whether etcd's API v2 is used; otherwise API v3
  std::string root = "/salt/return";
  etcd::Options writing;  ///< how to write to etcd (`etcd.returner_write_profile`)
  etcd::Options reading;  ///< how to read from etcd (`etcd.returner_read_profile`)
  /// The time after which etcd deletes a job. 0 means that etcd keeps jobs for ever.
  std::chrono::seconds ttl{0};
  bool encode_values = true;  ///< whether values in API v3 are encoded as msgpack
  /// The largest size in bytes of the writes that wait for etcd. Above the limit, jobs are refused or lost.
  std::size_t outbox_bytes = std::size_t{64} << 20;
};

struct Options {
  /// The job cache that runners read: `memory`, `sqlite3` or `etcd`.
  std::string master_job_cache = "memory";
  std::vector<std::string> ext_job_cache;  ///< further job caches, which also get all jobs and returns
  /// Salt's `keep_jobs_seconds`: the age at which jobs are deleted. 0 means that jobs are kept for ever.
  std::chrono::seconds keep_jobs_seconds{86400};
  /// The largest size of the database in bytes. In a larger database, the oldest jobs are deleted. Absent
  /// means 8 MiB in memory and 1 GiB on disk.
  std::optional<std::size_t> max_bytes;
  EtcdOptions etcd;
};

}  // namespace rest_fcgi::returner

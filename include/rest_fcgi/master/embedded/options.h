// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "rest_fcgi/core/json.h"
#include "rest_fcgi/master/options.h"

namespace rest_fcgi::embedded {

/// One minion of this host.
struct MinionOptions {
  std::string id;                      ///< no slash, no NUL, not `.` or `..`
  Json grains = Json::empty_object();  ///< an object; laid over the host's own grains
  Json pillar = Json::empty_object();  ///< an object
};

/// What execution modules need to know of the configuration.
struct ModuleOptions {
  std::vector<std::string> module_dirs;  ///< absolute paths of folders with execution modules
  std::chrono::milliseconds script_timeout{60'000};
  std::string run_helper;   ///< what starts programs: an absolute path, or `unix:PATH`; empty: as installed
  std::string script_user;  ///< whom scripts run as; empty: the user we run as
  std::string python = "python3";  ///< the program that runs Python modules: a path, or a name in PATH
  std::string python_key;          ///< the key that names it, with file and line; empty: it is the default
  std::string file_root;           ///< the folder below which `file` may change files; empty: nowhere
};

struct Options {
  /// What the wheel `config.values` shows: an object with the effective options that are no secret.
  Json config_values = Json::empty_object();
  std::vector<MinionOptions> minions;  ///< empty: one, named after the host
  std::vector<master::NodegroupOptions> nodegroups;
  ModuleOptions modules;
  std::size_t max_workers = 256;   ///< threads for functions that take their time, and for asynchronous jobs
  std::size_t max_queued = 10000;  ///< function calls waiting for such a thread; beyond it: unavailable
  master::JidShare jid_share;      ///< of those who share a job cache with other hosts
  std::size_t max_queued_bytes = 64 << 20;  ///< of the loads of jobs that run or wait, as JSON text
};

}  // namespace rest_fcgi::embedded

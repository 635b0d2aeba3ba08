// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "rest_fcgi/core/json.h"
#include "rest_fcgi/master/options.h"

namespace rest_fcgi::embedded {

/// A minion of this host.
struct MinionOptions {
  std::string id;                      ///< no slash, no NUL, not `.` or `..`
  Json grains = Json::empty_object();  ///< an object; merged over the host's own grains
  Json pillar = Json::empty_object();  ///< an object
};

/// Options of execution modules.
struct ModuleOptions {
  std::vector<std::string> module_dirs;  ///< absolute paths of folders with execution modules
  std::chrono::milliseconds script_timeout{60'000};
  std::string run_helper;   ///< path of rest_fcgi_run, or `unix:PATH` of its socket; empty: as installed
  std::string script_user;  ///< the user that scripts run as; empty: the server's user
  std::string python = "python3";  ///< the program that runs Python modules: a path, or a name in PATH
  std::string python_key;          ///< file, line and key that name it; empty: it is the default
  std::string file_root;           ///< the folder below which `file` may change files; empty: nowhere
};

struct Options {
  /// The return of the wheel `config.values`: an object with the effective options without secrets.
  Json config_values = Json::empty_object();
  std::vector<MinionOptions> minions;  ///< empty: one minion with the name of the host
  std::vector<master::NodegroupOptions> nodegroups;
  ModuleOptions modules;
  std::size_t max_workers = 256;   ///< threads for slow functions and asynchronous jobs
  std::size_t max_queued = 10000;  ///< function calls that wait for such a thread; beyond it: unavailable
  master::JidShare jid_share;      ///< for hosts that share a job cache
  std::size_t max_queued_bytes = 64 << 20;  ///< size of the loads of all jobs that run or wait, as JSON text
};

}  // namespace rest_fcgi::embedded

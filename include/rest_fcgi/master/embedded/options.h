// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "rest_fcgi/core/json.h"
#include "rest_fcgi/master/options.h"

namespace rest_fcgi::embedded {

struct MinionOptions {
  std::string id;  ///< `id` is the minion's id. It has no slash and no NUL, and is not `.` or `..`.
  Json grains = Json::empty_object();  ///< `grains` are merged into the host's grains and take precedence.
  Json pillar = Json::empty_object();
};

struct ModuleOptions {
  std::vector<std::string> module_dirs;  ///< Absolute paths of folders with execution modules.
  std::chrono::milliseconds script_timeout{60'000};
  /// The path of the helper rest_fcgi_run, which starts programs, or `unix:PATH` of its socket. If empty, the
  /// installed helper is used.
  std::string run_helper;
  std::string script_user;         ///< `script_user` is the user of scripts; empty means the server's user.
  std::string python = "python3";  ///< `python` runs Python modules. It is a path, or a name in PATH.
  /// `python_key` is the file, line and key that set `python` to a path; or empty.
  std::string python_key;
  /// `file_root` is the only folder in which the module `file` may change files. Empty means no folder.
  std::string file_root;
};

struct Options {
  /// The return of the wheel `config.values`: an object with the options in use, without secrets.
  Json config_values = Json::empty_object();
  /// The minions. An empty list means one minion with the name of the host.
  std::vector<MinionOptions> minions;
  std::vector<master::NodegroupOptions> nodegroups;
  ModuleOptions modules;
  /// `max_workers` limits the threads for slow functions and asynchronous jobs.
  std::size_t max_workers = 256;
  /// `max_queued` limits the waiting calls. A further call fails with `unavailable`.
  std::size_t max_queued = 10000;
  master::JidShare jid_share;  ///< `jid_share` is this host's share of job ids if hosts share a job cache.
  /// `max_queued_bytes` limits the total size of the loads of all running and waiting jobs, as JSON texts.
  std::size_t max_queued_bytes = 64 << 20;
};

}  // namespace rest_fcgi::embedded

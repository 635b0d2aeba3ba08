// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "rest_fcgi/master/options.h"

namespace rest_fcgi::salt {

struct SshOptions {
  std::string program;  ///< `program` is the absolute path of salt-ssh. Empty means a search in PATH.
  /// `run_helper` is the absolute path of the helper rest_fcgi_run, which starts programs, or `unix:PATH` of
  /// its socket. If empty, the installed helper is used.
  std::string run_helper;
  /// The largest number of simultaneous calls. Each call is a process of about 100 MB.
  std::size_t max_running = 4;
};

/// Options for a real Salt master. A member that is named after a Salt setting has the value of this setting
/// in the master's file.
struct Options {
  std::string conf_file;                ///< `conf_file` is the path of the master's file, for salt-ssh.
  std::string interface = "127.0.0.1";  ///< `interface` is the address on which the master listens.
  unsigned ret_port = 4506;
  std::string sock_dir = "/var/run/salt/master";
  std::string pki_dir = "/etc/salt/pki/master";
  std::string token_dir;      ///< `token_dir` is the folder from which a logout deletes tokens, or empty.
  bool ipc_mode_tcp = false;  ///< `ipc_mode_tcp` says whether the event bus uses TCP (`ipc_mode: tcp`).
  unsigned tcp_master_pub_port = 4512;
  unsigned tcp_master_pull_port = 4513;  ///< With `ipc_mode: tcp`, the master accepts events on this port.
  /// `worker_threads` is the number of the master's worker processes that serve this program. The default is
  /// 4, because Salt starts 5 by default and Salt 3008 reserves one of them for minions.
  std::size_t worker_threads = 4;
  std::chrono::milliseconds timeout{5000};  ///< `timeout` is the timeout of a job that sets none itself.
  bool order_masters = false;               ///< `order_masters` says whether the master has syndics.
  std::string ext_job_cache;  ///< `ext_job_cache` is the returner that gets the returns of all jobs.
  std::vector<master::NodegroupOptions> nodegroups;
  std::size_t master_connections = 16;  ///< `master_connections` limits the connections to `ret_port`.
  /// `max_waiting_logins` limits the threads that wait until the master has checked a login.
  std::size_t max_waiting_logins = 64;
  /// The longest wait for a runner to start. It applies if the master does not say whether the runner exists.
  std::chrono::milliseconds runner_start_time{10000};
  bool inline_login = false;  ///< Whether each call sends the credentials instead of a token.
  SshOptions ssh;
};

}  // namespace rest_fcgi::salt

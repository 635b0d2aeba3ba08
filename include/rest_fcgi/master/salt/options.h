// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "rest_fcgi/master/options.h"

namespace rest_fcgi::salt {

/// How the client `ssh` runs salt-ssh on this host.
struct SshOptions {
  std::string program;  ///< absolute path of salt-ssh; empty: searched in PATH
  std::string
      run_helper;  ///< starts salt-ssh: absolute path of rest_fcgi_run, or `unix:PATH`; empty: as installed
  std::size_t max_running = 4;  ///< calls at the same time, each a process of about 100 MB; others wait
};

/// Settings of the master's own configuration, with Salt's names.
struct Options {
  std::string conf_file;                ///< path for Salt's own messages
  std::string interface = "127.0.0.1";  ///< address of the master
  unsigned ret_port = 4506;
  std::string sock_dir = "/var/run/salt/master";
  std::string token_dir;      ///< folder of the master's tokens, which logout removes; may be empty
  bool ipc_mode_tcp = false;  ///< `ipc_mode: tcp`: the event bus uses TCP
  unsigned tcp_master_pub_port = 4512;
  unsigned tcp_master_pull_port = 4513;  ///< port that takes events, with `ipc_mode: tcp`
  /// The master's worker processes. Salt's default is 5; 3008 reserves one of them for minions.
  std::size_t worker_threads = 4;
  std::chrono::milliseconds timeout{
      5000};                   ///< timeout of jobs without one of their own, which is sent to syndics
  bool order_masters = false;  ///< the master has syndics
  std::string ext_job_cache;   ///< a returner that all jobs use in addition
  std::vector<master::NodegroupOptions> nodegroups;
  std::size_t master_connections = 16;  ///< maximum number of connections to `ret_port`
  std::size_t max_waiting_logins =
      64;  ///< maximum number of threads that wait for the master to check a login
  /// Time for a runner to start if the master does not say whether it has the runner. Not configurable.
  std::chrono::milliseconds runner_start_time{10000};
  bool inline_login = false;  ///< send credentials with each call, as Salt does, instead of a token
  SshOptions ssh;
};

}  // namespace rest_fcgi::salt

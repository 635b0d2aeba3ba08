// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "rest_fcgi/master/options.h"

namespace rest_fcgi::salt {

/// How Salt's client `ssh` is run on this host.
struct SshOptions {
  std::string program;  ///< salt-ssh's absolute path; empty: looked for in PATH
  std::string
      run_helper;  ///< what starts it: rest_fcgi_run's absolute path, or `unix:PATH`; empty: as installed
  std::size_t max_running = 4;  ///< calls at a time, each a process of some 100 MB; others wait
};

/// What the master's own configuration says about how to reach it and what its clients do. Names are Salt's.
struct Options {
  std::string conf_file;                ///< for Salt's own messages
  std::string interface = "127.0.0.1";  ///< where the master listens, as an address to connect to
  unsigned ret_port = 4506;
  std::string sock_dir = "/var/run/salt/master";
  std::string token_dir;      ///< where the master keeps tokens, which are removed at a logout; may be empty
  bool ipc_mode_tcp = false;  ///< `ipc_mode: tcp`: the event bus is on TCP
  unsigned tcp_master_pub_port = 4512;
  unsigned tcp_master_pull_port = 4513;  ///< where events are fired then
  /// The master's workers for requests such as ours. Salt's default is 5, of which 3008 keeps one for
  /// minions.
  std::size_t worker_threads = 4;
  std::chrono::milliseconds timeout{5000};  ///< of a job that has none of its own, as syndics are told
  bool order_masters = false;               ///< there are syndics below this master
  std::string ext_job_cache;                ///< a returner that every job's minions get as well
  std::vector<master::NodegroupOptions> nodegroups;
  std::size_t master_connections = 16;  ///< kept connections to `ret_port`, at most
  std::size_t max_waiting_logins = 64;  ///< threads that may wait for the master to check a login
  /// How long a runner may take to begin where nobody says whether the master has it. Not in the
  /// configuration.
  std::chrono::milliseconds runner_begins{10000};
  bool inline_login = false;  ///< send credentials with each call, as Salt does; no token for them
  SshOptions ssh;
};

}  // namespace rest_fcgi::salt

// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <string>

namespace rest_fcgi::gateway {

struct Options {
  /// `unix:PATH`, `tcp:HOST:PORT`, or `fd:0` for the socket on file descriptor 0. Empty: `fd:0` if that is a
  /// listening socket, else an error.
  std::string listen;
  mode_t socket_mode = 0660;    ///< of a unix socket
  std::string socket_owner;     ///< user name; empty: as it comes
  std::string socket_group;     ///< group name; empty: as it comes
  bool allow_remote = false;    ///< may `tcp:` bind another address than loopback? FastCGI has no encryption
  std::size_t min_threads = 4;  ///< kept when idle
  std::size_t max_threads = 1024;
  std::size_t max_waiting = 1024;  ///< connections kept while all threads are busy; more are told 503
  std::size_t max_request_body_size = 1048576;           ///< bytes
  std::chrono::milliseconds receive_timeout{30000};      ///< for the next bytes, and all variables
  std::chrono::milliseconds send_timeout{30000};         ///< for the web server to take our reply
  std::chrono::milliseconds idle_thread_timeout{10000};  ///< after which a thread beyond `min_threads` ends
  std::chrono::milliseconds keep_conn_timeout{75000};    ///< for the next request on a kept connection
  std::chrono::milliseconds shutdown_timeout{30000};  ///< for what is in flight when the process has to end
};

}  // namespace rest_fcgi::gateway

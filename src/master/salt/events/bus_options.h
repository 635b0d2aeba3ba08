// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace rest_fcgi::salt {

/// Where the master's event bus is, and what this engine spends on it.
struct BusOptions {
  std::string path;                             ///< of `master_event_pub.ipc`; empty: TCP
  std::string host = "127.0.0.1";               ///< `ipc_mode: tcp`
  unsigned port = 4512;                         ///< Salt's `tcp_master_pub_port`
  std::size_t max_frame_bytes = 64 << 20;       ///< of a longer frame only the beginning is kept
  std::size_t max_early_bytes = 32 << 20;       ///< of events kept for jobs whose id is not known yet
  std::size_t max_jobs = 65536;                 ///< that can be listened to at once
  std::chrono::milliseconds rejoin_pause{100};  ///< between two tries to join; grows to 10 times that
};

}  // namespace rest_fcgi::salt

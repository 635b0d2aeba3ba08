// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::client {

struct Options {
  /// Salt's `netapi_enable_clients`. An empty list refuses every client, as in Salt.
  std::vector<lowstate::Client> enabled;
  /// Salt's `timeout`: the time after which `find_job` asks missing minions about the job.
  std::chrono::milliseconds timeout{5000};
  /// Salt's `gather_job_timeout`: the time limit for the answers to `find_job`.
  std::chrono::milliseconds gather_job_timeout{10000};
  /// Salt's `syndic_wait`: the time in which syndics name their minions. 0 if there are no syndics.
  std::chrono::milliseconds syndic_wait{0};
  /// Salt's `rest_timeout`: the time limit of a runner without its own `timeout`.
  std::chrono::milliseconds rest_timeout{300000};
  /// The time limit of a whole request. A longer `timeout` in a chunk does not extend the limit.
  std::chrono::milliseconds request_timeout{300000};
  /// The option `events: everybody`. If false, `external_auth` decides which events a user may see.
  bool events_for_everybody = false;
  /// The largest size of all returns of a request, in bytes of JSON.
  std::size_t max_reply_bytes = std::size_t{128} << 20;
};

}  // namespace rest_fcgi::client

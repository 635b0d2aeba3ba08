// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::client {

struct Options {
  /// Salt's `netapi_enable_clients`. If empty, every client is refused, as in Salt.
  std::vector<lowstate::Client> enabled;
  /// Salt's `timeout`: the wait for a job before its minions are asked whether it still runs.
  std::chrono::milliseconds timeout{5000};
  /// Salt's `gather_job_timeout`: the wait for their answers.
  std::chrono::milliseconds gather_job_timeout{10000};
  /// Salt's `syndic_wait` if there are syndics (`order_masters`): each job waits this long for them to name
  /// their minions. 0: no syndics.
  std::chrono::milliseconds syndic_wait{0};
  /// Salt's `rest_timeout`: the time limit of a runner without its own `timeout`.
  std::chrono::milliseconds rest_timeout{300000};
  /// The time limit of a request, whatever its chunks ask for.
  std::chrono::milliseconds request_timeout{300000};
  /// True: every session may see all events, as in Salt (`rest_fcgi: events: everybody`). False: the rules
  /// decide.
  bool events_for_everybody = false;
  /// Limit for the returns of all chunks of a request, as JSON text.
  std::size_t max_reply_bytes = std::size_t{128} << 20;
};

}  // namespace rest_fcgi::client

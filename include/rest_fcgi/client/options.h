// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::client {

struct Options {
  /// Salt's `netapi_enable_clients`. Empty, as in Salt: every client is refused.
  std::vector<lowstate::Client> enabled;
  /// Salt's `timeout`: how long a job is waited for before minions are asked whether it still runs.
  std::chrono::milliseconds timeout{5000};
  /// Salt's `gather_job_timeout`: how long they have to answer that.
  std::chrono::milliseconds gather_job_timeout{10000};
  /// Salt's `syndic_wait`, where there are syndics (`order_masters`): how long each job waits for them to
  /// name their minions; 0: there are none.
  std::chrono::milliseconds syndic_wait{0};
  /// Salt's `rest_timeout`: how long a runner may take that has no `timeout` of its own.
  std::chrono::milliseconds rest_timeout{300000};
  /// The end of every wait, counted from the start of the request, whatever else a chunk asks for.
  std::chrono::milliseconds request_timeout{300000};
  /// Every session may see all events, as in Salt (`rest_fcgi: events: everybody`); else the rules say which.
  bool events_for_everybody = false;
  /// What the chunks of one request may return together, as JSON text.
  std::size_t max_reply_bytes = std::size_t{128} << 20;
};

}  // namespace rest_fcgi::client

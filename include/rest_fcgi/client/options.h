// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::client {

struct Options {
  /// The enabled clients: Salt's `netapi_enable_clients`. If the list is empty, every client is refused, as
  /// in Salt.
  std::vector<lowstate::Client> enabled;
  /// Salt's `timeout`: the time after which missing minions are asked whether the job still runs.
  std::chrono::milliseconds timeout{5000};
  /// Salt's `gather_job_timeout`: how long a request waits for the minions' answers to this question.
  std::chrono::milliseconds gather_job_timeout{10000};
  /// Salt's `syndic_wait`: how long each job waits until the syndics have named their minions. 0 if the
  /// master has no syndics (`order_masters`).
  std::chrono::milliseconds syndic_wait{0};
  /// Salt's `rest_timeout`: the time limit of a runner without its own `timeout`.
  std::chrono::milliseconds rest_timeout{300000};
  /// The time limit of a whole request. A longer `timeout` in a chunk does not extend it.
  std::chrono::milliseconds request_timeout{300000};
  /// Whether every session may see all events, as in Salt (`rest_fcgi: events: everybody`). If false, the
  /// rules of `external_auth` decide which events a user may see.
  bool events_for_everybody = false;
  /// The largest size in bytes of the returns of all chunks of a request, as JSON text.
  std::size_t max_reply_bytes = std::size_t{128} << 20;
};

}  // namespace rest_fcgi::client

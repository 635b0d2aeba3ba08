// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rest_fcgi/core/json.h"

namespace rest_fcgi::embedded {

/// One minion of this host.
struct MinionOptions {
  std::string id;                      ///< no slash, no NUL, not `.` or `..`
  Json grains = Json::empty_object();  ///< an object; laid over the host's own grains
  Json pillar = Json::empty_object();  ///< an object
};

struct Options {
  std::vector<MinionOptions> minions;  ///< empty: one, named after the host
  std::size_t max_workers = 256;   ///< threads for functions that take their time, and for asynchronous jobs
  std::size_t max_queued = 10000;  ///< function calls waiting for such a thread; beyond it: unavailable
};

}  // namespace rest_fcgi::embedded

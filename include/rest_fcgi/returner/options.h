// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace rest_fcgi::returner {

/// How much the job cache in memory keeps; beyond either limit the oldest jobs go first.
struct Options {
  std::size_t max_jobs = 4096;
  std::size_t max_bytes = 8 * 1024 * 1024;  ///< of loads and returns, as JSON text
};

}  // namespace rest_fcgi::returner

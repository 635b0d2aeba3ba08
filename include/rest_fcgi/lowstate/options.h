// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "rest_fcgi/core/json_document.h"

namespace rest_fcgi::lowstate {

/// Limits on one request.
struct Options {
  JsonLimits json;
  std::size_t max_chunks = 100;  ///< largest number of chunks in one request
};

}  // namespace rest_fcgi::lowstate

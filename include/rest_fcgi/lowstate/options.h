// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "rest_fcgi/core/json_document.h"

namespace rest_fcgi::lowstate {

struct Options {
  JsonLimits json;
  std::size_t max_chunks = 100;
};

}  // namespace rest_fcgi::lowstate

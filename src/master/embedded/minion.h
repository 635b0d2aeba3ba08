// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "rest_fcgi/core/json_document.h"

namespace rest_fcgi::embedded {

/// One minion of this process. Immutable once it is made; shared by all threads.
struct Minion {
  std::string id;
  JsonDocument grains;  ///< an object
  JsonDocument pillar;  ///< an object
};

}  // namespace rest_fcgi::embedded

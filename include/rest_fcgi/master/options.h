// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rest_fcgi::master {

struct NodegroupOptions {
  std::string name;
  std::vector<std::string> words;  ///< The words of a compound target, or ids of minions; see NodegroupForm.
};

/// If several hosts share a job cache, each host makes only the jids of its share. The share has the jids
/// whose time in microseconds, modulo `count`, is `mine`.
struct JidShare {
  std::int64_t count = 1;
  std::int64_t mine = 0;  ///< The number of the host's share, less than `count`.
};

}  // namespace rest_fcgi::master

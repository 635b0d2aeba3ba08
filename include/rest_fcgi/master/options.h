// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rest_fcgi::master {

struct NodegroupOptions {
  std::string name;
  std::vector<std::string> words;  ///< words of a compound target, or ids of minions; see NodegroupForm
};

/// The part of the jids that a host may make, if several hosts share a job cache. The microseconds of its
/// jids, modulo `count`, are `mine`.
struct JidShare {
  std::int64_t count = 1;
  std::int64_t mine = 0;  ///< number of the host's share; less than `count`
};

}  // namespace rest_fcgi::master

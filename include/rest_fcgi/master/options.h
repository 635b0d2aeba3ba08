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

/// The share of all jids that one host may make, if several hosts share a job cache. The microseconds of the
/// host's jids, modulo `count`, equal `mine`.
struct JidShare {
  std::int64_t count = 1;
  std::int64_t mine = 0;  ///< The number of the host's share, less than `count`.
};

}  // namespace rest_fcgi::master

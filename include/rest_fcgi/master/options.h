// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rest_fcgi::master {

/// One of Salt's `nodegroups`.
struct NodegroupOptions {
  std::string name;
  std::vector<std::string> words;  ///< of a compound target, or ids; see NodegroupForm
};

/// The jids of this host if several hosts share a job cache: those whose microseconds modulo `count` are
/// `mine`.
struct JidShare {
  std::int64_t count = 1;
  std::int64_t mine = 0;  ///< less than `count`
};

}  // namespace rest_fcgi::master

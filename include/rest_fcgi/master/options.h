// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rest_fcgi::master {

/// One of Salt's `nodegroups`.
struct NodegroupOptions {
  std::string name;
  std::vector<std::string> words;  ///< of a compound target; or ids, where no word looks like more than that
};

/// Which job ids are made here, where several hosts keep jobs in one place: those whose microseconds leave
/// `mine` when they are divided by `count`.
struct JidShare {
  std::int64_t count = 1;
  std::int64_t mine = 0;  ///< less than `count`
};

}  // namespace rest_fcgi::master

// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace rest_fcgi::master {

/// One of Salt's `nodegroups`.
struct NodegroupOptions {
  std::string name;
  std::vector<std::string> words;  ///< of a compound target; or ids, where no word looks like more than that
};

}  // namespace rest_fcgi::master

// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace rest_fcgi::store {

struct Options {
  std::string path;  ///< `path` is the database's absolute path. Empty for a database in memory.
  /// `may_be_in_memory` allows a database in memory if the file cannot be created.
  bool may_be_in_memory = false;
};

}  // namespace rest_fcgi::store

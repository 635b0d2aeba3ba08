// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace rest_fcgi::store {

struct Options {
  std::string path;  ///< The absolute path of the database. Empty for a database in memory.
  /// Whether to use a database in memory if the file cannot be created.
  bool may_be_in_memory = false;
};

}  // namespace rest_fcgi::store

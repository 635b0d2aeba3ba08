// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace rest_fcgi::store {

struct Options {
  std::string path;  ///< absolute path of the database; empty: it is in this process's memory
  /// Where the file is missing and cannot be made, the database is in memory, and the log says so.
  bool may_be_in_memory = false;
};

}  // namespace rest_fcgi::store

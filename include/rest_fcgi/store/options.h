// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace rest_fcgi::store {

struct Options {
  std::string path;  ///< absolute path; empty: the database is in this process's memory
  /// Uses memory if the file does not exist and cannot be created, with a line in the log.
  bool may_be_in_memory = false;
};

}  // namespace rest_fcgi::store
